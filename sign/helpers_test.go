package sign

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

const (
	goldenPub = "197f6b23e16c8532c6abc838facd5ea789be0c76b2920334039bfa8b3d368d61"
	goldenFP  = "b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092"

	goldenTool = "#!/usr/bin/env python3\n" +
		"# rye:signed:2026-02-14T00:27:54Z:c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75:KKcAFw1svYikWOYv6mvSZJFeefpkINVDfZJwCEl36zQLBUu860IhLULOMU1jtBQbtaDyQgaAZvG3CQCboPwUAw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092\n" +
		"print(\"hello\")\n"
	goldenDirective = "<!-- rye:signed:2026-02-14T00:27:54Z:d4959debf11ddc26b9d2ec942fc0caba9df85bca4d49d0944ca0f412b08b52ce:2G11rX6gn3v7mw43mFt97BRzFYnXeGzVBVlX+N2+kG8GVEnZKtiLMVEz4i/7z2O2+SDiYZZLHs2YmAP94Lw7Cg:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092 -->\n" +
		"# Greet\n\n<directive name=\"greet\" version=\"1.0.0\">\n</directive>\n"
	goldenStatement = "rye.dev/sig/v1\nkind tool\nid demo/hello\ntime 2026-02-14T00:27:54Z\n" +
		"key b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092\nsize 38\n" +
		"sha256 c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75\n"
)

func goldenKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x2a}, ed25519.SeedSize))
}

func otherKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x17}, ed25519.SeedSize))
}

func goldenTime() time.Time { return time.Date(2026, 2, 14, 0, 27, 54, 0, time.UTC) }

func golden() Signer { return NewFileSigner(goldenKey(), "golden.pem") }

func pubOf(priv ed25519.PrivateKey) ed25519.PublicKey { return priv.Public().(ed25519.PublicKey) }

func goldenKeys() Keys { return OnlyKey(pubOf(goldenKey())) }

func tool(id string) Subject { return Subject{UseItem, "tool", id} }

func style(t testing.TB, name string) Style {
	t.Helper()
	s, ok := StyleByName(name)
	if !ok {
		t.Fatalf("no style %q", name)
	}
	return s
}

func mustSign(t testing.TB, body string, s Style, sub Subject) string {
	t.Helper()
	out, _, err := Sign(context.Background(), []byte(body), s, sub, golden(), goldenTime())
	if err != nil {
		t.Fatalf("Sign(%q): %v", body, err)
	}
	return string(out)
}

func wantCode(t testing.TB, what string, err error, want diag.Code) {
	t.Helper()
	if got := diag.CodeOf(err); err == nil || got != want {
		t.Errorf("%s: got code %q (%v), want %s", what, got, err, want)
	}
}

// field returns the field a SIG_MALFORMED error names.
func field(err error) any {
	if e, ok := err.(*diag.Error); ok {
		return e.Details["field"]
	}
	return nil
}

// sigLine returns the golden tool's line without its line feed.
func sigLine() string { return strings.Split(goldenTool, "\n")[1] }
