package trust_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// anyKey returns one of seven keys.
func anyKey(r *rand.Rand) memSigner { return key(byte(1 + r.IntN(7))) }

// bring writes one random document of any kind into the project, signed by
// anybody.
func (w *world) bring(r *rand.Rand) {
	by, about := anyKey(r), anyKey(r)
	when := w.now.Add(time.Duration(r.IntN(5)-2) * time.Hour)
	_, keyDoc := w.document(about, "project", randomScope(r))
	switch r.IntN(7) {
	case 0:
		w.write(w.project, doc.FileName(doc.KindKey, fp(about)), keyDoc)
	case 1:
		w.write(w.project, doc.FileName(doc.KindKey, fp(about)), keyDoc)
		w.endorse(keyDoc, everything, by)
	case 2:
		w.revoke(w.project, by, []doc.Reason{doc.ReasonCompromised, doc.ReasonRetired}[r.IntN(2)], when)
	case 3:
		if fp(by) != fp(about) {
			w.revokeBy(w.project, about, by, doc.ReasonSuperseded, when)
		}
	case 4:
		if fp(by) != fp(about) {
			w.rotate(w.project, by, about)
		}
	case 5:
		w.list(by, item.DigestOf(keyDoc))
	case 6:
		name, g := w.grant(keyDoc, everything, by)
		w.write(w.project, name, g)
	}
}

// Whatever a project brings, of every kind of document and signed by every key,
// it never turns an untrusted item into a trusted one, and never undoes a
// refusal as revoked, where no anchor may endorse or rotate.
func TestProjectNeverWidens(t *testing.T) {
	trusted, revoked := 0, 0
	for seed := range rounds(30) {
		r := rand.New(rand.NewPCG(seed, 21))
		w := randomWorld(t, r)
		if r.IntN(2) == 0 {
			w.revoke(w.userDir, key(byte(2+r.IntN(4))), doc.ReasonCompromised, w.now)
		}
		in := probes(w)
		s, _ := w.load()
		before := codes(s, in)
		for range 5 {
			w.bring(r)
			s, _ = w.load()
			after := codes(s, in)
			neverWider(t, fmt.Sprint("seed ", seed), before, after)
			for i := range before {
				if before[i] == "" {
					trusted++
				}
				if before[i] == diag.Revoked {
					revoked++
				}
			}
		}
	}
	if trusted < 50 || revoked < 10 {
		t.Fatalf("%d trusted and %d revoked probes: the test proves too little", trusted, revoked)
	}
}

// Denials are a union over all tiers: with a further revocation, in whatever
// folder and by whomever, nothing counts that did not.
func TestDenialsAreAUnion(t *testing.T) {
	fell := 0
	for seed := range rounds(20) {
		r := rand.New(rand.NewPCG(seed, 22))
		w := newWorld(t)
		w.own(key(1), everything)
		for n := byte(2); n < 6; n++ {
			scope := scopeOf("sign", "revoke", "endorse", "rotate")
			w.add(key(n), "someone else", scope, scope, key(1))
		}
		w.endorse(w.propose(key(6), "endorsed", everything), everything, key(byte(2+r.IntN(4))))
		w.rotate(w.project, key(5), key(7))
		in := probes(w)
		s, _ := w.load()
		before := codes(s, in)
		for range 6 {
			dir := []string{w.sysDir, w.userDir, w.project}[r.IntN(3)]
			when := w.now.Add(time.Duration(r.IntN(3)-1) * time.Hour)
			reason := []doc.Reason{doc.ReasonCompromised, doc.ReasonRetired, doc.ReasonSuperseded}[r.IntN(3)]
			by, about := anyKey(r), anyKey(r)
			path := filepath.Join(dir, doc.FileNameBy(doc.KindRevocation, fp(about), fp(by)))
			if fp(by) == fp(about) {
				path = filepath.Join(dir, doc.FileName(doc.KindRevocation, fp(by)))
			}
			if _, err := os.Stat(path); err == nil {
				continue // a file in its place is another matter
			}
			if fp(by) == fp(about) {
				w.revoke(dir, by, reason, when)
			} else {
				w.revokeBy(dir, about, by, reason, when)
			}
			s, _ = w.load()
			after := codes(s, in)
			neverWider(t, fmt.Sprint("seed ", seed, " ", path), before, after)
			for i := range before {
				if before[i] == "" && after[i] != "" {
					fell++
				}
			}
			before = after
		}
	}
	if fell < 50 {
		t.Fatalf("only %d items fell: the test proves too little", fell)
	}
}

// What counts by an endorsement is allowed by the document, the endorsement and
// the endorser's own kinds and ids, each of them.
func TestEndorsementIntersects(t *testing.T) {
	if testing.Short() {
		t.Skip("checks many random worlds")
	}
	counted := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 23))
		w := newWorld(t)
		w.own(key(1), everything)
		root, wish, end := randomScope(r), randomScope(r), randomScope(r)
		root.May = append(root.May, "endorse")
		w.add(key(2), "root", root, root, key(1))
		w.endorse(w.propose(key(3), "ben", wish), end, key(2))
		s := w.clean()
		for _, id := range []string{"a/b", "b/c", "c/d/e"} {
			for _, use := range []string{"sign", "release"} {
				in := w.tool(key(3), id, w.now)
				in.Use = use
				root.May = []string{use}
				want := wish.Allows("tool", id, use) && end.Allows("tool", id, use) && root.Allows("tool", id, use)
				if got := s.Verify(in).OK(); got != want {
					t.Fatalf("seed %d: tool:%s %s is %v; document %v, endorsement %v, endorser %v", seed, id, use, got, wish, end, root)
				}
				if want {
					counted++
				}
			}
		}
	}
	if counted < 15 {
		t.Fatalf("only %d probes count: the test proves too little", counted)
	}
}

// FuzzLaterDocuments: the kinds that speak of other keys are returned whole or
// not at all, under the one name that they may have.
func FuzzLaterDocuments(f *testing.F) {
	w := newWorld(f)
	add := func(name string, b []byte, err error) {
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, b)
	}
	_, keyDoc := w.document(key(2), "ben", everything)
	name, b, err := doc.NewEndorsement(f.Context(), doc.PermissionParams{Document: keyDoc, Scope: everything, Now: w.now}, key(1))
	add(name, b, err)
	name, b, err = doc.NewRotation(f.Context(), doc.RotationParams{Now: w.now}, key(1), key(2))
	add(name, b, err)
	name, b, err = doc.NewRevocation(f.Context(), doc.RevocationParams{Key: fp(key(2)), Reason: doc.ReasonRetired, Now: w.now}, key(1))
	add(name, b, err)
	name, b, err = doc.NewRevocationList(f.Context(), []item.Digest{item.DigestOf(keyDoc)}, key(1), w.now)
	add(name, b, err)
	name, b, err = doc.NewReleaseRevocation(f.Context(), doc.Release{Bundle: "core", Version: "1.0.0", Why: "it leaks"}, key(1), w.now)
	add(name, b, err)
	name, b, err = doc.NewPublisher(f.Context(), acme(1), key(5), w.now)
	add(name, b, err)
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		d, fs := doc.Parse(name, b)
		if (d == nil) != diag.Failed(fs) {
			t.Fatalf("document %v with findings %v", d, fs)
		}
		if d == nil {
			return
		}
		if filepath.Base(name) != d.Name() {
			t.Fatalf("accepted under the name %q, not %q", name, d.Name())
		}
		if d.Head().Signer == (sign.Fingerprint{}) {
			t.Fatal("accepted without a signature")
		}
		if d, ok := d.(*doc.Rotation); ok && (d.Signer != sign.FingerprintOf(d.Public) || len(d.Successor) != 32) {
			t.Fatalf("accepted without both keys: %+v", d)
		}
	})
}
