package trust_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func role(threshold int, keys ...memSigner) (r doc.Role) {
	r.Threshold = threshold
	for _, k := range keys {
		r.Keys = append(r.Keys, k.Public())
	}
	return r
}

// acme is a publisher whose root are 2 of the keys 5, 6, 7.
func acme(version int) doc.Publisher {
	return doc.Publisher{Name: "acme", Version: version, Bundles: []string{"acme/**"},
		Root: role(2, key(5), key(6), key(7)), Release: role(2, key(2), key(3)), Revoke: role(2, key(3), key(4))}
}

// publish writes the copies of a publisher document that these keys sign.
func (w *world) publish(dir string, p doc.Publisher, by ...memSigner) (paths []string) {
	w.t.Helper()
	for _, k := range by {
		name, b, err := doc.NewPublisher(w.t.Context(), p, k, w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		paths = append(paths, w.write(dir, name, b))
	}
	return paths
}

func version(s *trust.Store) int {
	if p := s.Publisher("acme"); p != nil {
		return p.Version
	}
	return 0
}

func TestPublisherRules(t *testing.T) {
	w := newWorld(t)
	w.publish(w.userDir, acme(1), key(5), key(6))
	s := w.clean()
	rules := s.PublisherRules("acme/core", "github.com/acme/core")
	if len(rules) != 1 || rules[0].Threshold != 2 || rules[0].Version != 1 {
		t.Fatalf("%+v", rules)
	}
	for n, signers := range map[int][]sign.Fingerprint{0: nil, 1: {fp(key(2)), fp(key(2)), fp(key(9))}, 2: {fp(key(2)), fp(key(3)), fp(key(4))}} {
		if got := rules[0].Have(signers); got != n {
			t.Errorf("of %v %d count, want %d", signers, got, n)
		}
	}
	if s.PublisherRules("other/core") != nil || s.Publisher("other") != nil {
		t.Error("a publisher speaks for others")
	}
}

// V54 for root keys: enough different ones must sign, and a revoked one does not.
func TestV54PublisherRoots(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(w *world)
		want int
	}{
		"two of three": {func(w *world) { w.publish(w.userDir, acme(1), key(5), key(7)) }, 1},
		"one":          {func(w *world) { w.publish(w.userDir, acme(1), key(5)) }, 0},
		"one, in two folders": {func(w *world) {
			w.publish(w.userDir, acme(1), key(5))
			w.publish(w.sysDir, acme(1), key(5))
		}, 0},
		"and a stranger": {func(w *world) { w.publish(w.userDir, acme(1), key(5), key(9)) }, 0},
		"of two texts": {func(w *world) {
			other := acme(1)
			other.Bundles = []string{"acme/*"}
			w.publish(w.userDir, acme(1), key(5))
			w.publish(w.userDir, other, key(6))
		}, 0},
		"one revoked": {func(w *world) {
			w.publish(w.userDir, acme(1), key(5), key(6))
			w.revoke(w.userDir, key(6), doc.ReasonCompromised, time.Time{})
		}, 0},
	} {
		w := newWorld(t)
		c.do(w)
		s, fs := w.load()
		if got := version(s); got != c.want || (c.want == 0) != (len(fs) > 0) || diag.Failed(fs) {
			t.Errorf("V54 %s: version %d, want %d; %v", name, got, c.want, fs)
		}
	}
}

// V55: a version counts by a threshold of the root keys before and of its own,
// and none is left out.
func TestV55PublisherVersions(t *testing.T) {
	next := func(n int, root doc.Role) doc.Publisher {
		p := acme(n)
		p.Root = root
		return p
	}
	fresh := role(2, key(7), key(8), key(9))
	for name, c := range map[string]struct {
		do   func(w *world)
		want int
		says string
	}{
		"both":         {func(w *world) { w.publish(w.userDir, next(2, fresh), key(5), key(7), key(8)) }, 2, ""},
		"the old ones": {func(w *world) { w.publish(w.userDir, next(2, fresh), key(5), key(6)) }, 1, "0 of its root keys signed it, 2 must"},
		"the new ones": {func(w *world) { w.publish(w.userDir, next(2, fresh), key(8), key(9)) }, 1, "0 of its root keys of the version before signed it, 2 must"},
		"one left out": {func(w *world) { w.publish(w.userDir, acme(3), key(5), key(6)) }, 1, "version 2, which leads to it, is missing"},
		"two steps": {func(w *world) {
			w.publish(w.userDir, acme(3), key(5), key(6))
			w.publish(w.userDir, acme(2), key(5), key(6))
		}, 3, ""},
		"another's next":   {func(w *world) { w.publish(w.userDir, next(2, role(1, key(9))), key(9)) }, 1, "of the version before"},
		"in the project":   {func(w *world) { w.publish(w.project, next(2, fresh), key(5), key(7), key(8)) }, 2, ""},
		"half in each":     {func(w *world) { w.publish(w.project, acme(2), key(5)); w.publish(w.userDir, acme(2), key(6)) }, 2, ""},
		"a weaker release": {func(w *world) { p := acme(2); p.Release.Threshold = 1; w.publish(w.project, p, key(5)) }, 1, "1 of its root keys signed it, 2 must"},
	} {
		w := newWorld(t)
		w.publish(w.userDir, acme(1), key(5), key(6))
		c.do(w)
		s, fs := w.load()
		if got := version(s); got != c.want || (len(fs) > 0) != (c.says != "") || diag.Failed(fs) != strings.Contains(c.says, "is missing") {
			t.Errorf("V55 %s: version %d, want %d; %v", name, got, c.want, fs)
		}
		if text := strings.Join(messages(fs), "\n"); !strings.Contains(text, c.says) {
			t.Errorf("V55 %s: no text contains %q: %s", name, c.says, text)
		}
	}
}

func messages(fs []diag.Finding) (out []string) {
	for _, f := range fs {
		out = append(out, f.Message)
	}
	return out
}

// A project's publisher is valid by root keys that are trusted here, and is then
// remembered: an earlier state of the project does not restore an earlier rule.
func TestV55Rollback(t *testing.T) {
	w := newWorld(t)
	w.p.StateDir = filepath.Join(t.TempDir(), "state")
	w.own(key(1), everything)
	v1 := w.publish(w.project, acme(1), key(5), key(6))
	if s := w.clean(); version(s) != 0 || s.PublisherTexts("acme")[0].Counts {
		t.Error("strangers' document in a project counts")
	}
	w.add(key(5), "root a", everything, everything, key(1))
	if s, _ := w.load(); version(s) != 0 {
		t.Error("one trusted root key is enough")
	}
	w.add(key(6), "root b", everything, everything, key(1))
	strict := acme(2)
	strict.Release = role(2, key(2), key(3), key(4))
	v2 := w.publish(w.project, strict, key(5), key(6))
	s := w.clean()
	if version(s) != 2 {
		t.Fatal(version(s))
	}
	if err := trust.Remember(w.p, s); err != nil {
		t.Fatal(err)
	}
	for _, p := range v2 {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	s, fs := w.load()
	if version(s) != 2 {
		t.Errorf("V55 rolled back to version %d", version(s))
	}
	wantFinding(t, "V55 rollback", fs, diag.Rollback, v1[1], "the project has version 1")
	for _, p := range v1 {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	if s = w.clean(); version(s) != 2 {
		t.Errorf("V55 rolled back to nothing, version %d", version(s))
	}
}

// Two texts of one version that the root keys signed both restrict.
func TestPublisherFork(t *testing.T) {
	w := newWorld(t)
	other := acme(1)
	other.Release = role(1, key(9))
	w.publish(w.userDir, acme(1), key(5), key(6))
	w.publish(w.sysDir, other, key(6), key(7))
	s, fs := w.load()
	if len(s.PublisherRules("acme/a")) != 2 {
		t.Errorf("rules are %v", s.PublisherRules("acme/a"))
	}
	if !diag.Failed(fs) || !strings.Contains(strings.Join(messages(fs), "\n"), "another text of version 1") {
		t.Errorf("%v", fs)
	}
}

// As many of the keys that revoke for a publisher as it demands take a release
// back, and fewer do not.
func TestPublisherRevokes(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "ben", everything, everything, key(1))
	w.publish(w.userDir, acme(1), key(5), key(6))
	in, r := w.manifest(key(2), "acme/core")
	w.takeBack(w.project, r, key(3))
	w.takeBack(w.userDir, r, key(3))
	wantCode(t, "one key twice", w.clean().Verify(in), "")
	w.takeBack(w.userDir, r, key(4))
	s := w.clean()
	wantCode(t, "two keys", s.Verify(in), diag.Revoked)
	elsewhere, r2 := w.manifest(key(2), "other/core")
	w.takeBack(w.userDir, r2, key(3))
	w.takeBack(w.userDir, r2, key(4))
	wantCode(t, "a bundle that it does not name", w.clean().Verify(elsewhere), "")
}

// What a publisher document may not be.
func TestPublisherDocuments(t *testing.T) {
	w := newWorld(t)
	good := acme(1)
	name, b, err := doc.NewPublisher(t.Context(), good, key(5), w.now)
	if err != nil {
		t.Fatal(err)
	}
	d, fs := doc.Parse(name, b)
	if d := doc.As[*doc.PublisherCopy](d, fs); d == nil || len(d.Publisher.Root.Keys) != 3 || d.Publisher.Version != 1 {
		t.Fatalf("%+v, %v", d, fs)
	}
	if d, fs := doc.ParseAnyName(b); d == nil || d.Name() != name {
		t.Errorf("%v, %v", d, fs)
	}
	for what, change := range map[string]func(*doc.Publisher){
		"V54 a key twice":          func(p *doc.Publisher) { p.Root = role(2, key(5), key(5)) },
		"V54 threshold 0":          func(p *doc.Publisher) { p.Release.Threshold = 0 },
		"threshold -1":             func(p *doc.Publisher) { p.Release.Threshold = -1 },
		"more than there are keys": func(p *doc.Publisher) { p.Release.Threshold = 3 },
		"no root":                  func(p *doc.Publisher) { p.Root = doc.Role{} },
		"no release":               func(p *doc.Publisher) { p.Release = doc.Role{Threshold: 1} },
		"a weak key":               func(p *doc.Publisher) { p.Root.Keys[0] = append(ed25519.PublicKey{1}, make([]byte, 31)...) },
		"a short key":              func(p *doc.Publisher) { p.Root.Keys[0] = p.Root.Keys[0][:31] },
		"version 0":                func(p *doc.Publisher) { p.Version = 0 },
		"no bundles":               func(p *doc.Publisher) { p.Bundles = nil },
		"a bad pattern":            func(p *doc.Publisher) { p.Bundles = []string{"a b"} },
		"a name":                   func(p *doc.Publisher) { p.Name = "../acme" },
		"no name":                  func(p *doc.Publisher) { p.Name = "" },
	} {
		p := acme(1)
		change(&p)
		if _, _, err := doc.NewPublisher(t.Context(), p, key(5), w.now); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for _, other := range []string{strings.Replace(name, "acme-1", "acme-2", 1), strings.Replace(name, "acme", "acm", 1), "publisher-acme.toml"} {
		if d, _ := doc.Parse(other, b); d != nil {
			t.Errorf("it is read as %s", other)
		}
	}
	text := string(b[strings.IndexByte(string(b), '\n')+1:])
	for what, edit := range map[string]string{
		"an unknown field":    strings.Replace(text, "version = 1\n", "version = 1\nmore = 1\n", 1),
		"an unknown role":     text + "\n[sign]\nthreshold = 1\n",
		"a field in a role":   text + "more = 1\n",
		"a version as a text": strings.Replace(text, "version = 1", `version = "1"`, 1),
		"a fraction":          strings.Replace(text, "threshold = 2", "threshold = 2.0", 1),
		"a key as a number":   strings.Replace(text, "keys = [", "keys = [1, ", 1),
	} {
		if d, _ := doc.Parse(name, w.signed(doc.KindPublisher, strings.TrimSuffix(name, ".toml"), edit, key(5))); d != nil {
			t.Errorf("%s is accepted", what)
		}
	}
}
