package sign

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// junk is a signer that returns the bytes that it has (T21).
type junk struct {
	pub ed25519.PublicKey
	sig []byte
}

func (j junk) Public() ed25519.PublicKey                    { return j.pub }
func (j junk) Sign(context.Context, []byte) ([]byte, error) { return j.sig, nil }
func (j junk) String() string                               { return "junk" }

type broken struct{ junk }

var errBroken = errors.New("out of order")

func (broken) Sign(context.Context, []byte) ([]byte, error) { return nil, errBroken }

func TestV30OtherSubject(t *testing.T) {
	for _, sub := range []Subject{
		tool("demo/hell"), tool("demo/hello2"), tool("hello"), tool("Demo/hello"),
		{UseItem, "directive", "demo/hello"}, {UseItem, "demo", "tool/hello"},
	} {
		_, err := Verify([]byte(goldenTool), style(t, "#"), sub, goldenKeys())
		wantCode(t, "V30 "+sub.Kind+":"+sub.ID, err, diag.SigInvalid)
	}
	for _, use := range []Use{UseTrust, UseEndorsement, UseRevocation, UseRotation, UseManifest, UseThread, UseCheckpoint, UseToken, UseLog} {
		_, err := Verify([]byte(goldenTool), style(t, "#"), Subject{use, "tool", "demo/hello"}, goldenKeys())
		wantCode(t, "V30 use "+string(use), err, diag.SigInvalid)
		signed := mustSign(t, toolBody, style(t, "#"), Subject{use, "tool", "demo/hello"})
		wantCode(t, "V30 signed for "+string(use), verifyTool(signed), diag.SigInvalid)
	}
}

func TestV31UnknownKey(t *testing.T) {
	out, _, err := Sign(context.Background(), []byte(goldenTool), style(t, "#"), tool("demo/hello"), NewFileSigner(otherKey(), "x"), goldenTime())
	if err != nil {
		t.Fatal(err)
	}
	err = verifyTool(string(out))
	wantCode(t, "V31", err, diag.KeyUnknown)
	if err.(*diag.Error).Details["key"] != FingerprintOf(pubOf(otherKey())).String() {
		t.Errorf("V31 details %v", err.(*diag.Error).Details)
	}
}

func TestV32SwappedLines(t *testing.T) {
	s := style(t, "#")
	a := strings.SplitAfterN(mustSign(t, "a\n", s, tool("a")), "\n", 2)
	b := strings.SplitAfterN(mustSign(t, "b\n", s, tool("b")), "\n", 2)
	_, err := Verify([]byte(b[0]+a[1]), s, tool("a"), goldenKeys())
	wantCode(t, "V32 other body", err, diag.HashMismatch)
	twin := strings.SplitAfterN(mustSign(t, "a\n", s, tool("b")), "\n", 2)
	_, err = Verify([]byte(twin[0]+a[1]), s, tool("a"), goldenKeys())
	wantCode(t, "V32 equal body", err, diag.SigInvalid)
}

func TestT21JunkSigner(t *testing.T) {
	ctx, s, sub, pub := context.Background(), style(t, "#"), tool("demo/hello"), pubOf(goldenKey())
	file := []byte(toolBody)
	for what, sig := range map[string][]byte{
		"nothing": nil, "short": make([]byte, 63), "long": make([]byte, 65), "zero": make([]byte, 64),
		"of another key":     ed25519.Sign(otherKey(), []byte("x")),
		"of another message": ed25519.Sign(goldenKey(), []byte("x")),
	} {
		out, changed, err := Sign(ctx, file, s, sub, junk{pub, sig}, goldenTime())
		wantCode(t, "T21 "+what, err, diag.SigInvalid)
		if out != nil || changed || string(file) != toolBody {
			t.Errorf("T21 %s: %q, %v", what, out, changed)
		}
		out, changed, err = SignDetached(ctx, file, nil, sub, junk{pub, sig}, goldenTime())
		wantCode(t, "T21 detached "+what, err, diag.SigInvalid)
		if out != nil || changed {
			t.Errorf("T21 detached %s: %q, %v", what, out, changed)
		}
	}
	if _, _, err := Sign(ctx, file, s, sub, broken{junk{pub, nil}}, goldenTime()); !errors.Is(err, errBroken) {
		t.Errorf("T21 a failing signer: %v", err)
	}
	for _, pub := range []ed25519.PublicKey{nil, make([]byte, 31), make([]byte, 32)} {
		_, _, err := Sign(ctx, file, s, sub, junk{pub, make([]byte, 64)}, goldenTime())
		wantCode(t, "T21 weak key", err, diag.KeyWeak)
		_, _, err = SignDetached(ctx, file, []byte("x"), sub, junk{pub, make([]byte, 64)}, goldenTime())
		wantCode(t, "T21 weak key, detached", err, diag.KeyWeak)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err := Sign(cancelled, file, s, sub, golden(), goldenTime())
	wantCode(t, "cancelled", err, diag.Cancelled)
}

func TestVerifyReportsTheFirstFailure(t *testing.T) {
	// Wrong hash, unknown key and wrong id at once: the hash comes first.
	file := strings.Replace(strings.Replace(goldenTool, "hello", "hullo", 1), goldenFP, strings.Repeat("0", 64), 1)
	l, err := Verify([]byte(file), style(t, "#"), tool("other"), goldenKeys())
	wantCode(t, "order", err, diag.HashMismatch)
	if l.Key.String() != strings.Repeat("0", 64) {
		t.Errorf("the line is not returned with HASH_MISMATCH: %+v", l)
	}
}
