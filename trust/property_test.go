package trust_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// pick returns a random part of the words.
func pick(r *rand.Rand, words ...string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(string) bool { return r.IntN(2) == 0 })
}

func randomScope(r *rand.Rand) doc.Scope {
	return doc.Scope{
		Kinds:      pick(r, "tool", "knowledge", "*"),
		Namespaces: pick(r, "a/**", "b/*", "**", "a/b"),
		May:        pick(r, "sign", "release"),
	}
}

// randomWorld is a user with an own key, strangers' keys granted or not, and
// anchors of the system, all with random scopes.
func randomWorld(t *testing.T, r *rand.Rand) *world {
	w := newWorld(t)
	w.own(key(1), everything)
	for n := byte(2); n < 6; n++ {
		name, keyDoc := w.document(key(n), "someone", randomScope(r))
		if r.IntN(2) == 0 {
			w.write([]string{w.sysDir, w.userDir}[r.IntN(2)], name, keyDoc)
		}
		if r.IntN(2) == 0 {
			name, g := w.grant(keyDoc, randomScope(r), key([]byte{1, 1, n + 1}[r.IntN(3)]))
			w.write(w.userDir, name, g)
		}
	}
	return w
}

// probes are items of every key, known or not.
func probes(w *world) []trust.Input {
	var out []trust.Input
	for n := byte(1); n < 8; n++ {
		for _, id := range []string{"a/b", "b/c", "c/d/e"} {
			out = append(out, w.tool(key(n), id, w.now))
		}
	}
	return out
}

func codes(s *trust.Store, in []trust.Input) []diag.Code {
	out := make([]diag.Code, len(in))
	for i := range in {
		out[i] = s.Verify(in[i]).Code
	}
	return out
}

// neverWider fails when something untrusted became trusted.
func neverWider(t *testing.T, what string, before, after []diag.Code) {
	t.Helper()
	for i := range before {
		if before[i] != "" && after[i] == "" {
			t.Errorf("%s: probe %d was %s and is trusted now", what, i, before[i])
		}
	}
}

// rounds returns the number of random worlds of a property test, fewer with
// -short.
func rounds(full uint64) uint64 {
	if testing.Short() {
		return full / 5
	}
	return full
}

// Whatever a project brings, it never turns an untrusted item into a trusted
// one.
func TestProjectNeverAddsTrust(t *testing.T) {
	if testing.Short() {
		t.Skip("checks many random worlds")
	}
	trusted := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 9))
		w := randomWorld(t, r)
		in := probes(w)
		s, _ := w.load()
		before := codes(s, in)
		for _, c := range before {
			if c == "" {
				trusted++
			}
		}
		for range 6 {
			k := key(byte(1 + r.IntN(7)))
			name, keyDoc := w.document(k, "project", randomScope(r))
			switch r.IntN(3) {
			case 1:
				name, keyDoc = w.grant(keyDoc, everything, key(byte(1+r.IntN(7))))
			case 2:
				w.revoke(w.project, k, doc.ReasonSuperseded, w.now.Add(time.Duration(r.IntN(3)-1)*time.Hour))
			}
			w.write(w.project, name, keyDoc)
			s, _ = w.load()
			neverWider(t, name, before, codes(s, in))
		}
	}
	if trusted < 40 {
		t.Fatalf("only %d probes were trusted: the test proves too little", trusted)
	}
}

// Taking a document that grants away never widens, nor does narrowing a scope.
func TestRemovingNeverWidens(t *testing.T) {
	for seed := range rounds(40) {
		r := rand.New(rand.NewPCG(seed, 10))
		w := randomWorld(t, r)
		in := probes(w)
		s, _ := w.load()
		before := codes(s, in)
		files, _ := filepath.Glob(filepath.Join(w.userDir, "key-*.toml"))
		more, _ := filepath.Glob(filepath.Join(w.sysDir, "*.toml"))
		for _, path := range append(files, more...) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			s, _ = w.load()
			after := codes(s, in)
			neverWider(t, "removing "+path, before, after)
			before = after
		}
	}
}

func TestNarrowingNeverWidens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	allowed := 0
	for range 20000 {
		b := trust.Bounds{{Scope: randomScope(r)}, {Scope: randomScope(r)}}
		kind := []string{"tool", "knowledge", "config", ""}[r.IntN(4)]
		id := []string{"a/b", "b/c", "b/c/d", "x", ""}[r.IntN(5)]
		use := []string{"sign", "release", "provider", ""}[r.IntN(4)]
		wide := b.Allows(kind, id, use)
		if wide {
			allowed++
		}
		if wide && (!b[0].Scope.Allows(kind, id, use) || !b[1].Scope.Allows(kind, id, use)) {
			t.Fatalf("%+v allows %s:%s %s, one of them does not", b, kind, id, use)
		}
		if wide && !slices.Contains(b.May(), cmpOr(use, "sign")) {
			t.Fatalf("%+v allows %s, May() is %v", b, use, b.May())
		}
		n := slices.Clone(b)
		lists := []*[]string{&n[0].Scope.Kinds, &n[1].Scope.Namespaces, &n[0].Scope.May}
		if l := lists[r.IntN(3)]; len(*l) > 0 {
			*l = (*l)[1:]
		}
		if !wide && n.Allows(kind, id, use) || !wide && append(n, trust.Bound{Scope: everything}).Allows(kind, id, use) {
			t.Fatalf("narrowing %+v to %+v widened %s:%s %s", b, n, kind, id, use)
		}
	}
	if allowed < 200 {
		t.Fatalf("only %d cases were allowed: the test proves too little", allowed)
	}
	if (trust.Bounds{}).Allows("tool", "a/b", "sign") {
		t.Error("no bounds must allow nothing")
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// FuzzParseDocument: nothing panics, and a document is returned only when it is
// whole: named for its key, sound, with an end, and signed.
func FuzzParseDocument(f *testing.F) {
	w := newWorld(f)
	stem := keyStem(key(2))
	good := w.signed("key", stem, keyText(key(2), "acme"), key(2))
	f.Add(stem+".toml", good)
	f.Add("key-x.toml", good)
	f.Add(stem+".toml", []byte(keyText(key(2), "acme")))
	_, g := w.grant(good, everything, key(1))
	f.Add("grant-"+fp(key(2)).String()+".toml", g)
	name, rev, err := doc.NewRevocation(f.Context(), doc.RevocationParams{Reason: doc.ReasonRetired, Now: w.now}, key(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(name, rev)
	f.Add("a.toml", []byte("[validity.not-before]\nscope = 1\nkind = 'key'\n"))
	f.Add("a.toml", []byte("schema=[[[[[[[[[[[["))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		d, fs := doc.Parse(name, b)
		if (d == nil) != diag.Failed(fs) {
			t.Fatalf("document %v with findings %v", d, fs)
		}
		if d == nil {
			return
		}
		if filepath.Base(name) != d.Name() {
			t.Fatalf("accepted under the name %q", name)
		}
		bounded := func(from, to time.Time, years int) bool {
			return !to.IsZero() && !to.After(from.AddDate(years, 0, 0))
		}
		ok := true
		switch d := d.(type) {
		case *doc.Key:
			ok = bounded(d.NotBefore, d.NotAfter, doc.MaxYears) && d.Signer == sign.FingerprintOf(d.Public)
		case *doc.Grant:
			ok = bounded(d.NotBefore, d.NotAfter, 2*doc.MaxYears)
		case *doc.Revocation:
			ok = d.Public == nil || d.Signer == sign.FingerprintOf(d.Public)
		}
		if !ok {
			t.Fatalf("accepted without an end or without the key's own signature: %+v", d)
		}
	})
}
