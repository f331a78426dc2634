package trust_test

import (
	"context"
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// grantKey makes key n the grant key of the user.
func (w *world) grantKey(n byte) memSigner {
	w.t.Helper()
	k := key(n)
	scope := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}}
	name, b, err := doc.NewKey(context.Background(), doc.KeyParams{Owner: "leo (grants)", KeyKind: doc.KeyGrant, Scope: scope, NotAfter: w.now.AddDate(3, 0, 0), Now: w.now}, k)
	if err != nil {
		w.t.Fatal(err)
	}
	gname, g := w.grant(b, scope, k)
	if err := testkit.AddOwnKey(w.userDir, trust.File{Name: name, Data: b}, trust.File{Name: gname, Data: g}); err != nil {
		w.t.Fatal(err)
	}
	return k
}

func may(uses ...string) doc.Scope {
	return doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: uses}
}

// A grant key grants, and its own signatures under items, manifests and endorsements
// are refused.
func TestGrantKey(t *testing.T) {
	w := newWorld(t)
	k, bob, sue := w.grantKey(1), key(2), key(3)
	w.add(bob, "bob", may("sign", "release", "rotate"), may("sign", "release", "rotate"), k)
	s := w.clean()
	wantCode(t, "what bob signs", s.Verify(w.tool(bob, "gh/x", w.now)), "")
	wantCode(t, "an item by the grant key", s.Verify(w.tool(k, "gh/x", w.now)), diag.Scope)
	sub := sign.Subject{Use: sign.UseManifest, Kind: "bundle", ID: "tools"}
	manifest, _, err := sign.Sign(context.Background(), []byte("bundle: {}\n"), style, sub, k, w.now)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a manifest by the grant key", s.Verify(trust.ManifestInput(trust.Input{Bytes: manifest, Subject: sub})), diag.Scope)
	for _, use := range doc.Uses() {
		if s.Anchors(fp(k), use) {
			t.Errorf("the grant key is an anchor that may %s", use)
		}
	}
	// An endorsement in the project gives nothing.
	name, document := w.document(sue, "sue", everything)
	w.write(w.project, name, document)
	ename, e, err := doc.NewEndorsement(context.Background(), doc.PermissionParams{Document: document, Scope: everything, Now: w.now}, k)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, ename, e)
	s, fs := w.load()
	wantCode(t, "an endorsed key", s.Verify(w.tool(sue, "gh/x", w.now)), diag.KeyUnknown)
	wantFinding(t, "the endorsement", fs, diag.Scope, ename, "may not endorse")
}

// A grant by a grant key that gives more than signing has no effect.
func TestGrantKeyGivesNoOtherUse(t *testing.T) {
	for _, use := range []string{"endorse", "revoke", "provider"} {
		w := newWorld(t)
		k, bob := w.grantKey(1), key(2)
		w.add(bob, "bob", may("sign", use), may("sign", use), k)
		s, fs := w.load()
		wantFinding(t, use, fs, diag.Scope, doc.FileName(doc.KindGrant, fp(bob)), "gives "+use)
		wantCode(t, use, s.Verify(w.tool(bob, "gh/x", w.now)), diag.KeyUnknown)
		if s.Anchors(fp(bob), use) {
			t.Errorf("bob may %s", use)
		}
	}
}

// A document that makes a grant key and gives it a use is not valid.
func TestGrantKeyWithUses(t *testing.T) {
	k := key(1)
	if _, _, err := doc.NewKey(context.Background(), doc.KeyParams{Owner: "leo", KeyKind: doc.KeyGrant, Scope: everything, Now: at("2026-11-20T10:00:00Z")}, k); err == nil {
		t.Error("NewKey accepts uses")
	}
	w := newWorld(t)
	text := strings.Replace(keyText(k, "leo"), "owner = ", "key-kind = \"grant\"\nowner = ", 1)
	w.write(w.userDir, keyStem(k)+".toml", w.signed(doc.KindKey, keyStem(k), text, k))
	_, fs := w.load()
	wantFinding(t, "the document", fs, diag.ValidationFailed, keyStem(k)+".toml", "no uses")
}

// plain grants a key without a document.
func (w *world) plain(k sign.Signer, scope doc.Scope, by sign.Signer, end time.Time) string {
	w.t.Helper()
	name, g, err := doc.NewGrant(context.Background(), doc.PermissionParams{Public: k.Public(), Source: "https://host/leo.keys", Scope: scope, NotAfter: end, Now: w.now}, by)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(w.userDir, name, g)
}

func TestPlainGrant(t *testing.T) {
	w := newWorld(t)
	k, ssh := w.grantKey(1), key(2)
	before := w.now.AddDate(-1, 0, 0)
	w.plain(ssh, doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"gh/**"}, May: doc.GrantUses()}, k, w.now.AddDate(9, 0, 0))
	s := w.clean()
	v := s.Verify(w.tool(ssh, "gh/x", before))
	wantCode(t, "an item from before the grant", v, "")
	if v.Owner != "https://host/leo.keys" {
		t.Errorf("owner %q", v.Owner)
	}
	wantCode(t, "another id", s.Verify(w.tool(ssh, "rye/x", w.now)), diag.Scope)
	if info, _ := s.Key(fp(ssh)); info.NotAfter.After(w.now.AddDate(2, 0, 0)) {
		t.Errorf("the grant ends %s", info.NotAfter)
	}
	w.now = w.now.AddDate(2, 0, 1)
	s, _ = w.load()
	wantCode(t, "after two years", s.Verify(w.tool(ssh, "gh/x", w.now)), diag.Expired)
}

// Grants that name another key than they have, a longer time or a weak key, and one
// that no own key signed.
func TestBadPlainGrants(t *testing.T) {
	w := newWorld(t)
	k, ssh, other := w.grantKey(1), key(2), key(3)
	path := w.plain(ssh, everything, other, time.Time{})
	s, fs := w.load()
	wantFinding(t, "a stranger's grant", fs, diag.KeyUnknown, path, "not a key of yours")
	wantCode(t, "a stranger's grant", s.Verify(w.tool(ssh, "gh/x", w.now)), diag.KeyUnknown)

	stem := "grant-" + fp(ssh).String()
	good := func(change func(string) string) []byte {
		_, b, err := doc.NewGrant(context.Background(), doc.PermissionParams{Public: ssh.Public(), Source: "x", Scope: everything, Now: w.now}, k)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b), "\n")
		return w.signed(doc.KindGrant, stem, change(text), k)
	}
	line := func(pub ed25519.PublicKey) string {
		_, b, err := doc.NewGrant(context.Background(), doc.PermissionParams{Public: pub, Source: "x", Scope: everything, Now: w.now}, k)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "public-key = ")
		return strings.SplitN(rest, "\n", 2)[0]
	}
	for what, change := range map[string]func(string) string{
		"is not the key": func(s string) string {
			return strings.Replace(s, line(ssh.Public()), line(other.Public()), 1)
		},
		"at most 2 years": func(s string) string { return strings.Replace(s, "not-after = 2028", "not-after = 2029", 1) },
		"unknown": func(s string) string {
			return strings.Replace(s, "source = ", "document = \"sha256:00\"\nsource = ", 1)
		},
	} {
		w.write(w.userDir, stem+".toml", good(change))
		s, fs := w.load()
		if !diag.Failed(fs) {
			t.Errorf("%s: no finding", what)
		}
		wantCode(t, what, s.Verify(w.tool(ssh, "gh/x", w.now)), diag.KeyUnknown)
	}
}
