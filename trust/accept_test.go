package trust_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// proposing is a user with a state folder and a project that proposes keys 3
// and 4.
func proposing(t testing.TB) *world {
	w := newWorld(t)
	w.own(key(1), everything)
	w.p.StateDir, w.p.Identity = filepath.Join(t.TempDir(), "state"), "1000"
	w.propose(key(3), "ben", everything)
	w.propose(key(4), "eve", doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"eve/**"}, May: []string{"sign"}})
	return w
}

func (w *world) accept() string {
	w.t.Helper()
	s, _ := w.load()
	file, err := trust.Accept(w.p, s.ProjectSet())
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

func TestAccept(t *testing.T) {
	w := proposing(t)
	in := w.tool(key(3), "a/b", w.now)
	s := w.clean()
	set := s.ProjectSet()
	if set.State != trust.SetProposed || len(set.Documents) != 2 || set.Digest == (item.Digest{}) {
		t.Fatalf("set %+v", set)
	}
	wantCode(t, "proposed", s.Verify(in), diag.KeyUnknown)
	file := w.accept()
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the acceptance is readable by others: %v %v", info, err)
	}
	s = w.clean()
	v := s.Verify(in)
	wantCode(t, "accepted", v, "")
	if v.Tier != trust.TierProject {
		t.Errorf("verdict %+v", v)
	}
	wantCode(t, "the document bounds it", s.Verify(w.tool(key(4), "a/b", w.now)), diag.Scope)
	wantCode(t, "within", s.Verify(w.tool(key(4), "eve/b", w.now)), "")
	if set := s.ProjectSet(); set.State != trust.SetAccepted || !set.At.Equal(w.now) {
		t.Errorf("set %+v", set)
	}
	if text := strings.Join(s.Explain(v, in), "\n"); !strings.Contains(text, "accepted by you with the project's trust set: valid") {
		t.Errorf("Explain hides the acceptance:\n%s", text)
	}

	other := w.p // another account, another project, no state
	other.Identity = "0"
	s, _ = trust.Load(other)
	wantCode(t, "another account", s.Verify(in), diag.KeyUnknown)
	other = w.p
	other.StateDir = ""
	s, _ = trust.Load(other)
	wantCode(t, "no state", s.Verify(in), diag.KeyUnknown)
	other = w.p
	other.ProjectDir = filepath.Join(t.TempDir(), ".ai", "trust")
	if err := os.CopyFS(other.ProjectDir, os.DirFS(w.project)); err != nil {
		t.Fatal(err)
	}
	s, _ = trust.Load(other)
	wantCode(t, "the same documents elsewhere", s.Verify(in), diag.KeyUnknown)

	if was, err := trust.Forget(w.p); !was || err != nil {
		t.Errorf("Forget: %v %v", was, err)
	}
	wantCode(t, "forgotten", w.clean().Verify(in), diag.KeyUnknown)
	if was, err := trust.Forget(w.p); was || err != nil {
		t.Errorf("Forget twice: %v %v", was, err)
	}
}

// V52: any change of the set after it was accepted, and only for what relies on
// the acceptance.
func TestV52SetChanged(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*world)
	}{
		{"a document is renewed", func(w *world) { w.now = w.now.Add(time.Second); w.propose(key(4), "eve", everything) }},
		{"one is added", func(w *world) { w.propose(key(5), "mallory", everything) }},
		{"one is removed", func(w *world) { _ = os.Remove(filepath.Join(w.project, doc.FileName("key", fp(key(4))))) }},
		{"one is renamed", func(w *world) {
			from := filepath.Join(w.project, doc.FileName("key", fp(key(4))))
			_ = os.Rename(from, filepath.Join(w.project, "key-x.toml"))
		}},
		{"one is broken", func(w *world) { w.write(w.project, doc.FileName("key", fp(key(4))), []byte("x")) }},
		{"a revocation arrives", func(w *world) { w.revoke(w.project, key(4), doc.ReasonRetired, w.now) }},
		{"junk arrives", func(w *world) { w.write(w.project, "junk.toml", nil) }},
		{"a folder as document", func(w *world) { _ = os.Mkdir(filepath.Join(w.project, "key-y.toml"), 0o755) }},
		{"all are removed", func(w *world) { _ = os.RemoveAll(w.project) }},
	} {
		w := proposing(t)
		in := w.tool(key(3), "a/b", w.now)
		own := w.tool(key(1), "a/b", w.now)
		w.accept()
		wantCode(t, "V52 accepted", w.clean().Verify(in), "")
		tc.edit(w)
		s, _ := w.load()
		v := s.Verify(in)
		wantCode(t, "V52 "+tc.name, v, diag.TrustChanged)
		wantReason(t, v, "changed since you accepted it")
		if v.Status != trust.Untrusted || diag.TrustChanged.Class() != diag.ClassTrust {
			t.Errorf("V52 %s: %+v", tc.name, v)
		}
		if err, _ := v.Err("tool:a/b").(*diag.Error); err == nil || err.Code != diag.TrustChanged {
			t.Errorf("V52 %s: error %+v", tc.name, err)
		}
		if text := strings.Join(s.Explain(v, in), "\n"); !strings.Contains(text, "7 key: FAILED, TRUST_CHANGED") {
			t.Errorf("V52 %s: Explain:\n%s", tc.name, text)
		}
		wantCode(t, "V52 own key, "+tc.name, s.Verify(own), "")
		wantCode(t, "V52 a stranger, "+tc.name, s.Verify(w.tool(key(9), "a/b", w.now)), diag.KeyUnknown)
	}
}

// What the user grants himself does not rely on the set.
func TestV52GrantsDoNotRely(t *testing.T) {
	w := proposing(t)
	w.add(key(3), "ben", everything, everything, key(1))
	w.accept()
	w.propose(key(5), "new", everything)
	s := w.clean()
	wantCode(t, "granted", s.Verify(w.tool(key(3), "a/b", w.now)), "")
	wantCode(t, "accepted only", s.Verify(w.tool(key(4), "eve/b", w.now)), diag.TrustChanged)
	wantCode(t, "new in the set", s.Verify(w.tool(key(5), "a/b", w.now)), diag.TrustChanged)
	w.accept()
	s = w.clean()
	wantCode(t, "accepted again", s.Verify(w.tool(key(5), "a/b", w.now)), "")
}

// The record of an acceptance is believed as it was written, or not at all.
func TestAcceptedRecord(t *testing.T) {
	for name, edit := range map[string]func([]byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"other digest": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"digest": "sha256:`), []byte(`"digest": "sha256:0`), 1)
		},
		"another list":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"name": "key-`), []byte(`"name": "kex-`), 1) },
		"another schema": func(b []byte) []byte { return bytes.Replace(b, []byte("accepted/v1"), []byte("accepted/v2"), 1) },
		"another user":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"1000"`), []byte(`"1001"`), 1) },
		"unknown field":  func(b []byte) []byte { return bytes.Replace(b, []byte(`"schema"`), []byte(`"x": 1, "schema"`), 1) },
		"a name twice": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"schema"`), []byte(`"identity": "1000", "schema"`), 1)
		},
		"goes on": func(b []byte) []byte { return append(b, "{}"...) },
		"NUL":     func(b []byte) []byte { return append(b, 0) },
	} {
		w := proposing(t)
		file := w.accept()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, edit(bytes.Clone(b)), 0o600); err != nil {
			t.Fatal(err)
		}
		s, fs := w.load()
		wantFinding(t, name, fs, diag.ConfigError, file, "ignoring an earlier acceptance")
		wantCode(t, name, s.Verify(w.tool(key(3), "a/b", w.now)), diag.KeyUnknown)
	}
	if runtime.GOOS == "windows" {
		return
	}
	w := proposing(t)
	file := w.accept()
	if err := os.Chmod(file, 0o660); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantFinding(t, "others may write it", fs, diag.ConfigError, file, "other accounts may write it")
	wantCode(t, "others may write it", s.Verify(w.tool(key(3), "a/b", w.now)), diag.KeyUnknown)
	_ = os.Remove(file)
	target := w.write(t.TempDir(), "x", nil)
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
	_, fs = w.load()
	wantFinding(t, "a link", fs, diag.ConfigError, file, "not a regular file")
}

func TestAcceptRefuses(t *testing.T) {
	w := proposing(t)
	s, _ := w.load()
	set := s.ProjectSet()
	none := w.p
	none.StateDir = ""
	if _, err := trust.Accept(none, set); diag.CodeOf(err) != diag.FileSystemError {
		t.Errorf("no state: %v", err)
	}
	none = w.p
	none.ProjectDir = filepath.Join(t.TempDir(), ".ai", "trust")
	if _, err := trust.Accept(none, set); diag.CodeOf(err) != diag.Usage {
		t.Errorf("another project: %v", err)
	}
	w.write(w.project, "junk.toml", []byte("x"))
	s, _ = w.load()
	if _, err := trust.Accept(w.p, s.ProjectSet()); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a broken document: %v", err)
	}
	if err := os.RemoveAll(w.project); err != nil {
		t.Fatal(err)
	}
	s, _ = w.load()
	if _, err := trust.Accept(w.p, s.ProjectSet()); diag.CodeOf(err) != diag.Usage {
		t.Errorf("an empty set: %v", err)
	}
	// What changed between showing and answering is not accepted.
	w = proposing(t)
	s, _ = w.load()
	shown := s.ProjectSet()
	w.propose(key(5), "late", everything)
	if _, err := trust.Accept(w.p, shown); err != nil {
		t.Fatal(err)
	}
	s, _ = w.load()
	wantCode(t, "added while asking", s.Verify(w.tool(key(5), "a/b", w.now)), diag.TrustChanged)
}

// T23: an owner of escape sequences in what a person is asked about.
func TestT23AcceptShowsEscapes(t *testing.T) {
	w := proposing(t)
	w.propose(key(5), "eve\x1b[2J\u202e", everything)
	s, _ := w.load()
	for _, d := range s.ProjectSet().Documents {
		if strings.ContainsAny(d.Owner, "\x1b\u202e") {
			t.Errorf("T23: %q", d.Owner)
		}
	}
	w.accept()
	in := w.tool(key(5), "a/b", w.now)
	s = w.clean()
	text := strings.Join(s.Explain(s.Verify(in), in), "\n")
	if js, _ := json.Marshal(s.ProjectSet()); strings.ContainsAny(text+string(js), "\x1b\u202e") {
		t.Errorf("T23: %q", text)
	}
}

// After any change of the directory no key is trusted by the acceptance, and with
// the accepted directory every key is.
func TestAcceptIsAllOrNothing(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		w := newWorld(t)
		w.own(key(1), everything)
		w.p.StateDir = t.TempDir()
		keys := byte(2 + r.IntN(4))
		for n := range keys {
			w.propose(key(10+n), fmt.Sprint("member ", n), everything)
		}
		var in []trust.Input
		for n := range keys + 1 {
			in = append(in, w.tool(key(10+n), "a/b", w.now))
		}
		w.accept()
		counting := func() (n int) {
			s, _ := w.load()
			for i := range in {
				if s.Verify(in[i]).OK() {
					n++
				}
			}
			return n
		}
		if n := counting(); n != int(keys) {
			t.Fatalf("seed %d: %d of %d count after accepting", seed, n, keys)
		}
		victim := filepath.Join(w.project, doc.FileName("key", fp(key(10+byte(r.IntN(int(keys)))))))
		was, err := os.ReadFile(victim)
		if err != nil {
			t.Fatal(err)
		}
		switch r.IntN(4) {
		case 0:
			_ = os.Remove(victim)
		case 1:
			changed := bytes.Clone(was)
			changed[r.IntN(len(changed))] ^= 1 << r.IntN(7)
			w.write(w.project, filepath.Base(victim), changed)
		case 2:
			w.now = w.now.Add(time.Second)
			w.propose(key(10+keys), "added", everything)
		case 3:
			w.revoke(w.project, key(99), doc.ReasonRetired, w.now)
		}
		if n := counting(); n != 0 {
			t.Fatalf("seed %d: %d keys are trusted after a change", seed, n)
		}
		_ = os.Remove(filepath.Join(w.project, doc.FileName("key", fp(key(10+keys)))))
		_ = os.Remove(filepath.Join(w.project, doc.FileName("revocation", fp(key(99)))))
		w.write(w.project, filepath.Base(victim), was)
		if n := counting(); n != int(keys) {
			t.Fatalf("seed %d: %d of %d count after everything is back", seed, n, keys)
		}
	}
}
