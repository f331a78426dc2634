package trust_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// remembered are Proofs as the memo keeps them, with the number of facts that were computed.
type remembered struct {
	signatures map[sign.Signature]bool
	keys       map[[ed25519.PublicKeySize]byte]bool
	computed   int
}

func newRemembered() *remembered {
	return &remembered{signatures: map[sign.Signature]bool{}, keys: map[[ed25519.PublicKeySize]byte]bool{}}
}

func (r *remembered) Known(s sign.Signature) bool { return r.signatures[s] }

func (r *remembered) Valid(s sign.Signature) { r.signatures[s], r.computed = true, r.computed+1 }

func (r *remembered) KnownKey(pub [ed25519.PublicKeySize]byte) bool { return r.keys[pub] }

func (r *remembered) ValidKey(pub [ed25519.PublicKeySize]byte) {
	r.keys[pub], r.computed = true, r.computed+1
}

// TestProofsOfDocuments loads the same documents again: nothing is computed a second time,
// and a change, a revocation and the end of a key's validity count as without proofs.
func TestProofsOfDocuments(t *testing.T) {
	w := newWorld(t)
	own, other := key(1), key(2)
	w.own(own, everything)
	w.add(other, "mia", everything, everything, own)
	proofs := newRemembered()
	w.p.Proofs = proofs
	w.clean()
	first := proofs.computed
	if first < 6 { // two keys, two key documents, two grants
		t.Fatalf("%d facts were computed", first)
	}
	s := w.clean()
	if proofs.computed != first {
		t.Errorf("%d facts were computed again", proofs.computed-first)
	}
	wantCode(t, "a tool", s.Verify(w.tool(other, "a", w.now)), "")

	// The grant of another key, with one byte of its content changed.
	name := filepath.Join(w.userDir, "grant-"+fp(other).String()+".toml")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.userDir, filepath.Base(name), bytes.Replace(good, []byte(`"release"`), []byte(`"endorse"`), 1))
	s, fs := w.load()
	wantFinding(t, "a changed grant", fs, diag.HashMismatch, name, "")
	wantCode(t, "by a changed grant", s.Verify(w.tool(other, "a", w.now)), diag.KeyUnknown)
	w.write(w.userDir, filepath.Base(name), good)

	revocation := w.revoke(w.userDir, other, doc.ReasonCompromised, w.now.Add(-time.Hour))
	s, _ = w.load()
	wantCode(t, "revoked", s.Verify(w.tool(other, "a", w.now)), diag.Revoked)
	if err := os.Remove(revocation); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.AddDate(3, 0, 0)
	s, _ = w.load()
	wantCode(t, "expired", s.Verify(w.tool(other, "a", w.now)), diag.Expired)
}
