package sign

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ryeos/rye/diag"
)

// serve answers one connection as an agent would.
func serve(t *testing.T, a agent.Agent) *Agent {
	t.Helper()
	mine, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		agent.ServeAgent(a, theirs)
		theirs.Close()
	}()
	client := NewAgent(mine)
	t.Cleanup(func() { client.Close(); <-done })
	return client
}

// skAgent holds a security key, which no keyring can.
type skAgent struct {
	agent.Agent
	pub ed25519.PublicKey
}

func (s skAgent) List() ([]*agent.Key, error) {
	type wire struct {
		Format string
		Key    []byte
		App    string
	}
	sk := ssh.Marshal(wire{ssh.KeyAlgoSKED25519, s.pub, "ssh:"})
	long := ssh.Marshal(wire{ssh.KeyAlgoED25519, s.pub, "more"})
	return []*agent.Key{{Format: ssh.KeyAlgoSKED25519, Blob: sk, Comment: "token"}, {Format: ssh.KeyAlgoED25519, Blob: long}}, nil
}

// lyingAgent signs something else (T21).
type lyingAgent struct{ agent.Agent }

func (l lyingAgent) Sign(key ssh.PublicKey, _ []byte) (*ssh.Signature, error) {
	return l.Agent.Sign(key, []byte("something else"))
}

func (l lyingAgent) SignWithFlags(key ssh.PublicKey, _ []byte, _ agent.SignatureFlags) (*ssh.Signature, error) {
	return l.Sign(key, nil)
}

func (lyingAgent) Extension(string, []byte) ([]byte, error) {
	return nil, agent.ErrExtensionUnsupported
}

func TestAgentSigns(t *testing.T) {
	ctx, keyring := context.Background(), agent.NewKeyring()
	a := serve(t, keyring)
	_, err := a.Signer(ctx, FingerprintOf(pubOf(goldenKey())))
	wantCode(t, "empty agent", err, diag.KeyUnknown)

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := keyring.Add(agent.AddedKey{PrivateKey: ec, Comment: "ec"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Add(ctx, goldenKey(), "golden", time.Hour, false); err != nil {
		t.Fatal(err)
	}
	keys, err := a.List(ctx)
	if err != nil || len(keys) != 2 {
		t.Fatalf("%v, %v", keys, err)
	}
	for _, k := range keys {
		if usable := k.Comment == "golden"; usable != (k.Refused == "") || usable != bytes.Equal(k.Public, pubOf(goldenKey())) {
			t.Errorf("%+v", k)
		}
	}
	signer, err := a.Signer(ctx, FingerprintOf(pubOf(goldenKey())))
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("#!/usr/bin/env python3\nprint(\"hello\")\n")
	out, _, err := Sign(ctx, body, style(t, "#"), tool("demo/hello"), signer, goldenTime())
	if err != nil || string(out) != goldenTool {
		t.Errorf("signing through the agent: %v\n%s", err, out)
	}
	for _, bad := range []time.Duration{-time.Second, time.Millisecond, 1 << 62} {
		wantCode(t, bad.String(), a.Add(ctx, goldenKey(), "", bad, false), diag.Usage)
	}
}

func TestAgentRefusesSecurityKeys(t *testing.T) {
	ctx, a := context.Background(), serve(t, skAgent{agent.NewKeyring(), pubOf(goldenKey())})
	keys, err := a.List(ctx)
	if err != nil || len(keys) != 2 || keys[0].Refused == "" || keys[1].Refused == "" || keys[1].Public != nil {
		t.Fatalf("%+v, %v", keys, err)
	}
	_, err = a.Signer(ctx, FingerprintOf(pubOf(goldenKey())))
	wantCode(t, "sk key", err, diag.KeyUnknown)
	if err != nil && !bytes.Contains([]byte(err.Error()), []byte("security key")) {
		t.Errorf("no reason: %v", err)
	}
}

func TestT21LyingAgent(t *testing.T) {
	ctx, keyring := context.Background(), agent.NewKeyring()
	if err := keyring.Add(agent.AddedKey{PrivateKey: goldenKey()}); err != nil {
		t.Fatal(err)
	}
	signer, err := serve(t, lyingAgent{keyring}).Signer(ctx, FingerprintOf(pubOf(goldenKey())))
	if err != nil {
		t.Fatal(err)
	}
	out, changed, err := Sign(ctx, []byte(toolBody), style(t, "#"), tool("a"), signer, goldenTime())
	wantCode(t, "T21 agent", err, diag.SigInvalid)
	if out != nil || changed {
		t.Errorf("T21 agent: %q", out)
	}
}

func TestAgentThatNeverAnswers(t *testing.T) {
	mine, theirs := net.Pipe()
	defer theirs.Close()
	a := NewAgent(mine)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // reads the request, answers nothing
		theirs.Read(make([]byte, 5))
		cancel()
	}()
	_, err := a.List(ctx)
	wantCode(t, "cancelled", err, diag.Cancelled)
}

// A limit of time ends a call without a ctx that ends.
func TestAgentThatIsLate(t *testing.T) {
	mine, theirs := net.Pipe()
	defer theirs.Close()
	go theirs.Read(make([]byte, 5))
	a := NewAgent(mine)
	a.answers = time.Millisecond
	_, err := a.List(context.Background())
	wantCode(t, "late", err, diag.AuthFailed)
	if err != nil && !bytes.Contains([]byte(err.Error()), []byte("has not answered within 1ms")) {
		t.Errorf("no reason: %v", err)
	}
}

func TestDialAgent(t *testing.T) {
	ctx := context.Background()
	_, err := DialAgent(ctx, "")
	wantCode(t, "no socket", err, diag.AuthRequired)
	_, err = DialAgent(ctx, filepath.Join(t.TempDir(), "absent"))
	wantCode(t, "absent socket", err, diag.AuthRequired)
	if runtime.GOOS == "windows" {
		t.Skip("Unix sockets in a temporary directory may be too long here")
	}
	dir, err := os.MkdirTemp("", "rye")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			agent.ServeAgent(agent.NewKeyring(), c)
			c.Close()
		}
	}()
	a, err := DialAgent(ctx, filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if keys, err := a.List(ctx); err != nil || len(keys) != 0 {
		t.Errorf("%v, %v", keys, err)
	}
}
