package trust_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// memSigner is a key in memory.
type memSigner struct{ ed25519.PrivateKey }

func (m memSigner) Public() ed25519.PublicKey { return m.PrivateKey.Public().(ed25519.PublicKey) }
func (m memSigner) String() string            { return "a key in memory" }
func (m memSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(m.PrivateKey, msg), nil
}

// key returns the test key of that number.
func key(n byte) memSigner {
	return memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))}
}

func fp(s sign.Signer) sign.Fingerprint { return sign.FingerprintOf(s.Public()) }

func sha(raw []byte) sign.Fingerprint { return sign.FingerprintOf(raw) }

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

var (
	everything = doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}
	style      = sign.Hash()
)

// world is three trust folders, a clock and the program's own keys.
type world struct {
	t       testing.TB
	now     time.Time
	p       trust.Params
	sysDir  string
	userDir string
	project string
}

func newWorld(t testing.TB) *world {
	root := t.TempDir()
	w := &world{t: t, now: at("2026-11-20T10:00:00Z"),
		sysDir: filepath.Join(root, "etc"), userDir: filepath.Join(root, "user"), project: filepath.Join(root, "proj", ".ai", "trust")}
	for _, d := range []string{w.sysDir, w.userDir, w.project} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.p = trust.Params{SystemDirs: []string{w.sysDir}, UserDir: w.userDir, ProjectDir: w.project, Now: func() time.Time { return w.now }}
	return w
}

func (w *world) write(dir, name string, b []byte) string {
	w.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// document makes a key document that is valid for a year from now.
func (w *world) document(k sign.Signer, owner string, scope doc.Scope) (string, []byte) {
	w.t.Helper()
	name, b, err := doc.NewKey(context.Background(), doc.KeyParams{Owner: owner, Scope: scope, Now: w.now}, k)
	if err != nil {
		w.t.Fatal(err)
	}
	return name, b
}

func (w *world) grant(keyDoc []byte, scope doc.Scope, by sign.Signer) (string, []byte) {
	w.t.Helper()
	name, b, err := doc.NewGrant(context.Background(), doc.PermissionParams{Document: keyDoc, Scope: scope, Now: w.now}, by)
	if err != nil {
		w.t.Fatal(err)
	}
	return name, b
}

// own makes a key the user's own.
func (w *world) own(k sign.Signer, scope doc.Scope) {
	w.t.Helper()
	name, keyDoc := w.document(k, "leo", scope)
	gname, g := w.grant(keyDoc, scope, k)
	if err := testkit.AddOwnKey(w.userDir, trust.File{Name: name, Data: keyDoc}, trust.File{Name: gname, Data: g}); err != nil {
		w.t.Fatal(err)
	}
}

// add trusts another's key as rye trust add does.
func (w *world) add(k sign.Signer, owner string, wish, grant doc.Scope, by sign.Signer) {
	w.t.Helper()
	name, keyDoc := w.document(k, owner, wish)
	w.write(w.userDir, name, keyDoc)
	name, g := w.grant(keyDoc, grant, by)
	w.write(w.userDir, name, g)
}

func (w *world) revoke(dir string, k sign.Signer, reason doc.Reason, cutOff time.Time) string {
	w.t.Helper()
	name, b, err := doc.NewRevocation(context.Background(), doc.RevocationParams{Reason: reason, CutOff: cutOff, Now: w.now}, k)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(dir, name, b)
}

func (w *world) load() (*trust.Store, []diag.Finding) {
	w.t.Helper()
	s, fs := trust.Load(w.p)
	if s == nil {
		w.t.Fatal("Load returned no store")
	}
	return s, fs
}

// clean is load that expects no finding.
func (w *world) clean() *trust.Store {
	w.t.Helper()
	s, fs := w.load()
	for _, f := range fs {
		w.t.Errorf("unexpected finding: %s", f)
	}
	return s
}

// tool returns a signed tool of that id.
func (w *world) tool(k sign.Signer, id string, when time.Time) trust.Input {
	w.t.Helper()
	sub := sign.Subject{Use: sign.UseItem, Kind: "tool", ID: id}
	b, _, err := sign.Sign(context.Background(), []byte("#!/usr/bin/env python3\nprint(\"hello\")\n"), style, sub, k, when)
	if err != nil {
		w.t.Fatal(err)
	}
	return trust.Input{Space: "project", Path: id + ".py", Bytes: b, Style: style, Subject: sub, Text: true}
}

// signed signs a TOML text under any name, as an attacker could.
func (w *world) signed(kind, stem, text string, k sign.Signer) []byte {
	w.t.Helper()
	use := sign.UseTrust
	if kind == doc.KindRevocation || kind == doc.KindReleaseRevocation {
		use = sign.UseRevocation
	}
	b, _, err := sign.Sign(context.Background(), []byte(text), style, sign.Subject{Use: use, Kind: kind, ID: stem}, k, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// keyText is a key document before it is signed.
func keyText(k sign.Signer, owner string) string {
	return "schema = \"rye.trust/v1\"\nkind = \"key\"\nalgorithm = \"ed25519\"\npublic-key = \"" + base64.StdEncoding.EncodeToString(k.Public()) +
		"\"\nowner = \"" + owner + "\"\n\n[validity]\nnot-before = 2026-11-01T00:00:00Z\nnot-after = 2027-11-01T00:00:00Z\n\n" +
		"[scope]\nkinds = [\"*\"]\nnamespaces = [\"**\"]\nmay = [\"sign\"]\n"
}

func keyStem(k sign.Signer) string { return "key-" + fp(k).String() }

func wantCode(t testing.TB, what string, v trust.Verdict, code diag.Code) {
	t.Helper()
	if v.Code != code || v.OK() != (code == "") {
		t.Errorf("%s: code %q ok %v (%s), want %q", what, v.Code, v.OK(), strings.Join(v.Reasons, "; "), code)
	}
}

func wantFinding(t testing.TB, what string, fs []diag.Finding, code diag.Code, path, text string) {
	t.Helper()
	if !slices.ContainsFunc(fs, func(f diag.Finding) bool {
		return f.Code == code && filepath.Base(f.Path) == filepath.Base(path) && strings.Contains(f.Message, text)
	}) {
		t.Errorf("%s: no finding %s about %s saying %q in %v", what, code, path, text, fs)
	}
}

func wantReason(t testing.TB, v trust.Verdict, text string) {
	t.Helper()
	if !strings.Contains(strings.Join(v.Reasons, "\n"), text) {
		t.Errorf("no reason contains %q: %q", text, v.Reasons)
	}
}

func newKey(seed []byte) ed25519.PrivateKey { return ed25519.NewKeyFromSeed(seed) }
