package trust_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// scopeOf is every kind and id, with those uses.
func scopeOf(may ...string) doc.Scope {
	return doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: may}
}

// propose writes a key document into the project.
func (w *world) propose(k sign.Signer, owner string, wish doc.Scope) []byte {
	w.t.Helper()
	name, keyDoc := w.document(k, owner, wish)
	w.write(w.project, name, keyDoc)
	return keyDoc
}

// endorse writes an endorsement of a document into the project.
func (w *world) endorse(keyDoc []byte, scope doc.Scope, by sign.Signer) string {
	w.t.Helper()
	name, b, err := doc.NewEndorsement(context.Background(), doc.PermissionParams{Document: keyDoc, Scope: scope, Now: w.now}, by)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.write(w.project, name, b)
}

// team is a user with an own key 1 and the anchor 2, which may do that.
func team(t testing.TB, may ...string) *world {
	w := newWorld(t)
	w.own(key(1), everything)
	w.add(key(2), "root", scopeOf(may...), scopeOf(may...), key(1))
	return w
}

// T9, V44: a project cannot endorse its own keys, with any of its own keys.
func TestV44ProjectEndorsesItself(t *testing.T) {
	w := team(t, "sign")
	keyDoc := w.propose(key(6), "nice people", scopeOf("sign", "endorse", "revoke", "rotate"))
	w.endorse(keyDoc, everything, key(6))
	other := w.propose(key(7), "more of them", scopeOf("sign", "endorse"))
	path := w.endorse(keyDoc, everything, key(7))
	w.endorse(other, everything, key(6))
	s, fs := w.load()
	wantFinding(t, "V44", fs, diag.KeyUnknown, path, "is not an anchor of yours")
	for _, k := range []byte{6, 7} {
		wantCode(t, "V44", s.Verify(w.tool(key(k), "a/b", w.now)), diag.KeyUnknown)
	}
	for _, f := range fs {
		if f.Severity != diag.SeverityWarning {
			t.Errorf("V44: what is ignored is a warning: %s", f)
		}
	}
}

func TestEndorsement(t *testing.T) {
	w := team(t, "sign", "endorse")
	keyDoc := w.propose(key(3), "ben", everything)
	in := w.tool(key(3), "ben/x", w.now)
	wantCode(t, "proposed only", w.clean().Verify(in), diag.KeyUnknown)
	at := w.endorse(keyDoc, doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"ben/**"}, May: []string{"sign"}}, key(2))
	s := w.clean()
	v := s.Verify(in)
	wantCode(t, "endorsed", v, "")
	if v.Tier != trust.TierProject || v.Owner != "ben" || v.Document != filepath.Join(w.project, doc.FileName("key", fp(key(3)))) {
		t.Errorf("verdict %+v", v)
	}
	v = s.Verify(w.tool(key(3), "team/x", w.now))
	wantCode(t, "beyond the endorsement", v, diag.Scope)
	wantReason(t, v, at)
	info, _ := s.Key(fp(key(3)))
	if len(info.Endorsements) != 1 || !strings.Contains(info.Scope.String(), "ben/**") || info.State != trust.StateValid {
		t.Errorf("Key: %+v", info)
	}
	text := strings.Join(s.Explain(v, in), "\n")
	for _, want := range []string{"endorsed by key " + fp(key(2)).Short() + " of root", ": valid", "not accepted"} {
		if !strings.Contains(text, want) {
			t.Errorf("Explain does not say %q:\n%s", want, text)
		}
	}
	// The document changes after it was endorsed.
	w.now = w.now.Add(time.Minute)
	w.propose(key(3), "ben the great", everything)
	s, fs := w.load()
	wantFinding(t, "another document", fs, diag.KeyUnknown, at, "not here as it was endorsed")
	wantCode(t, "another document", s.Verify(in), diag.KeyUnknown)
}

// V49: an endorser without the use endorse endorses no key, and no endorser
// delegates more than it has.
func TestV49EndorserWithoutScope(t *testing.T) {
	for name, may := range map[string][]string{
		"no scope at all": nil, "an ordinary key": {"sign", "release"}, "other powers": {"revoke", "rotate", "provider", "sign"},
	} {
		w := team(t, may...)
		at := w.endorse(w.propose(key(3), "ben", everything), everything, key(2))
		s, fs := w.load()
		wantFinding(t, "V49 "+name, fs, diag.Scope, at, "may not endorse")
		v := s.Verify(w.tool(key(3), "a/b", w.now))
		wantCode(t, "V49 "+name, v, diag.KeyUnknown)
		wantReason(t, v, "may not endorse")
	}
	w := newWorld(t) // the grant takes endorse away from a document that wishes it
	w.own(key(1), everything)
	w.add(key(2), "root", scopeOf("sign", "endorse"), scopeOf("sign"), key(1))
	w.endorse(w.propose(key(3), "ben", everything), everything, key(2))
	s, _ := w.load()
	wantCode(t, "V49 not granted", s.Verify(w.tool(key(3), "a/b", w.now)), diag.KeyUnknown)

	w = team(t, "sign", "endorse") // an endorsed key is not an anchor
	w.endorse(w.propose(key(3), "ben", scopeOf("sign", "endorse")), scopeOf("sign", "endorse"), key(2))
	w.endorse(w.propose(key(4), "friend of ben", everything), everything, key(3))
	s, _ = w.load()
	wantCode(t, "V49 endorsed", s.Verify(w.tool(key(3), "a/b", w.now)), "")
	wantCode(t, "V49 second hand", s.Verify(w.tool(key(4), "a/b", w.now)), diag.KeyUnknown)
}

// An endorser that may only endorse delegates the uses of new keys, and no other
// use that it does not have.
func TestDelegation(t *testing.T) {
	for _, tc := range []struct {
		may  []string
		use  string
		want diag.Code
	}{
		{[]string{"endorse"}, "sign", ""},
		{[]string{"endorse"}, "release", ""},
		{[]string{"endorse"}, "provider", diag.Scope},
		{[]string{"endorse"}, "revoke", diag.Scope},
		{[]string{"endorse"}, "endorse", ""}, // he holds it, and yet it makes no anchor
		{[]string{"endorse", "provider"}, "provider", ""},
	} {
		w := team(t, tc.may...)
		all := scopeOf(doc.Uses()...)
		w.endorse(w.propose(key(3), "ben", all), all, key(2))
		in := w.tool(key(3), "a/b", w.now)
		in.Use = tc.use
		wantCode(t, fmt.Sprint(tc.may, " delegates ", tc.use), w.clean().Verify(in), tc.want)
	}
	w := newWorld(t)
	w.own(key(1), everything)
	narrow := doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"team/**"}, May: []string{"endorse"}}
	w.add(key(2), "root", narrow, narrow, key(1))
	w.endorse(w.propose(key(3), "ben", everything), everything, key(2))
	s := w.clean()
	wantCode(t, "within the endorser's ids", s.Verify(w.tool(key(3), "team/x", w.now)), "")
	v := s.Verify(w.tool(key(3), "other/x", w.now))
	wantCode(t, "beyond the endorser's ids", v, diag.Scope)
	wantReason(t, v, "team/**")
}

// An endorsement lasts as long as its endorser and its own window.
func TestEndorserCounts(t *testing.T) {
	setup := func() (*world, trust.Input) {
		w := team(t, "sign", "endorse")
		w.endorse(w.propose(key(3), "ben", everything), everything, key(2))
		return w, w.tool(key(3), "a/b", w.now)
	}
	w, in := setup()
	w.revoke(w.userDir, key(2), doc.ReasonRetired, w.now.Add(time.Hour))
	wantCode(t, "the endorser retired later", w.clean().Verify(in), "")
	w.revoke(w.userDir, key(2), doc.ReasonSuperseded, w.now)
	v := w.clean().Verify(in)
	wantCode(t, "the endorser was superseded before", v, diag.KeyUnknown)
	wantReason(t, v, "is revoked (superseded)")
	w.revoke(w.userDir, key(2), doc.ReasonCompromised, time.Time{})
	wantCode(t, "the endorser was stolen", w.clean().Verify(in), diag.KeyUnknown)

	w, in = setup()
	if _, err := trust.RemoveKey(w.userDir, fp(key(2))); err != nil {
		t.Fatal(err)
	}
	s, fs := w.load()
	wantCode(t, "the anchor is gone", s.Verify(in), diag.KeyUnknown)
	if !slices.ContainsFunc(fs, func(f diag.Finding) bool { return strings.Contains(f.Message, "not an anchor of yours") }) {
		t.Errorf("no finding: %v", fs)
	}

	w, in = setup() // 2 lasts a year, ben's own document too; nothing outlives it
	w.now = w.now.AddDate(1, 0, 1)
	wantCode(t, "after the endorser's end", w.clean().Verify(in), diag.KeyUnknown)

	w = team(t, "sign", "endorse") // the endorsement's own end
	keyDoc := w.propose(key(3), "ben", everything)
	in = w.tool(key(3), "a/b", w.now)
	name, b, err := doc.NewEndorsement(context.Background(), doc.PermissionParams{Document: keyDoc, Scope: everything, Now: w.now, NotAfter: w.now.Add(time.Hour)}, key(2))
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, name, b)
	wantCode(t, "within", w.clean().Verify(in), "")
	w.now = w.now.Add(2 * time.Hour)
	wantCode(t, "after the endorsement's end", w.clean().Verify(in), diag.Expired)
}

// What is signed for one use is valid for no other: an endorsement is not a
// grant, nor under another name.
func TestEndorsementForged(t *testing.T) {
	w := team(t, "sign", "endorse")
	keyDoc := w.propose(key(3), "ben", everything)
	path := w.endorse(keyDoc, doc.Scope{Kinds: []string{"tool"}, Namespaces: []string{"ben/**"}, May: []string{"sign"}}, key(2))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string][]byte{
		"widened":    bytes.Replace(b, []byte("ben/**"), []byte("**"), 1),
		"as a grant": bytes.Replace(b, []byte(`"endorsement"`), []byte(`"grant"`), 1),
		"truncated":  b[:len(b)/2],
		"CRLF":       bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")),
		"no line":    b[bytes.IndexByte(b, '\n')+1:],
	} {
		w.write(w.project, filepath.Base(path), forged)
		s, fs := w.load()
		if len(fs) == 0 {
			t.Errorf("%s: no finding", name)
		}
		wantCode(t, name, s.Verify(w.tool(key(3), "ben/x", w.now)), diag.KeyUnknown)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.write(w.project, doc.FileNameBy(doc.KindEndorsement, fp(key(3)), fp(key(4))), b)
	s, fs := w.load()
	wantFinding(t, "another endorser's name", fs, diag.ValidationFailed, doc.FileNameBy(doc.KindEndorsement, fp(key(3)), fp(key(4))), "must be named")
	wantCode(t, "another endorser's name", s.Verify(w.tool(key(3), "ben/x", w.now)), diag.KeyUnknown)
}

// A machine names its anchor, and the project cannot add to it.
func TestRoots(t *testing.T) {
	w := newWorld(t)
	w.propose(key(2), "root", scopeOf("sign", "endorse"))
	w.endorse(w.propose(key(3), "ben", everything), everything, key(2))
	mine, theirs := w.tool(key(2), "a/b", w.now), w.tool(key(3), "a/b", w.now)
	s, _ := w.load()
	wantCode(t, "no root", s.Verify(mine), diag.KeyUnknown)
	w.p.Roots = []sign.Fingerprint{fp(key(2))}
	s = w.clean()
	v := s.Verify(mine)
	wantCode(t, "the root", v, "")
	if v.Tier != trust.TierUser {
		t.Errorf("a root is of the user's tier: %+v", v)
	}
	wantCode(t, "whom the root endorsed", s.Verify(theirs), "")
	in := mine
	in.Use = "provider"
	wantCode(t, "the root's own document bounds it", s.Verify(in), diag.Scope)
	w.endorse(w.propose(key(4), "evil", everything), everything, key(3))
	s, _ = w.load()
	wantCode(t, "whom the endorsed endorsed", s.Verify(w.tool(key(4), "a/b", w.now)), diag.KeyUnknown)
	w.p.Roots = []sign.Fingerprint{fp(key(9))}
	s, _ = w.load()
	wantCode(t, "another root", s.Verify(mine), diag.KeyUnknown)

	w.p.Roots = nil // the same by a file, of any name, or a folder
	dir := t.TempDir()
	name, keyDoc := w.document(key(2), "root", scopeOf("sign", "endorse"))
	w.p.RootPaths = []string{w.write(dir, "root.toml", keyDoc)}
	s, fs := w.load()
	wantCode(t, "a file", s.Verify(theirs), "")
	if len(fs) != 1 || fs[0].Severity != diag.SeverityWarning {
		t.Errorf("findings %v", fs)
	}
	if err := os.Rename(filepath.Join(dir, "root.toml"), filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	gname, g := w.grant(keyDoc, everything, key(2)) // no own key comes from there
	w.write(dir, gname, g)
	w.p.RootPaths = []string{dir}
	s, _ = w.load()
	wantCode(t, "a folder", s.Verify(mine), "")
	if info, _ := s.Key(fp(key(2))); info.Own {
		t.Error("a folder of roots made a key the user's own")
	}
	w.p.RootPaths = []string{filepath.Join(dir, "absent")}
	s, fs = w.load()
	if !diag.Failed(fs) {
		t.Error("no error for an absent root")
	}
	wantCode(t, "an absent root", s.Verify(mine), diag.KeyUnknown)
}

// An endorser that is an anchor for two reasons delegates the scope of the valid
// one, not that of the other.
func TestEndorserReasonsDoNotMix(t *testing.T) {
	w := newWorld(t)
	w.own(key(1), everything)
	w.own(key(5), doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"drafts/**"}, May: []string{"sign"}})
	powers := scopeOf("sign", "endorse", "rotate")
	w.add(key(10), "old root", powers, powers, key(1))
	w.add(key(11), "root", powers, powers, key(5)) // for drafts only
	name, b, err := doc.NewRotation(t.Context(), doc.RotationParams{Now: w.now}, key(10), key(11))
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.project, name, b)
	w.endorse(w.propose(key(3), "ben", everything), everything, key(11))
	drafts, tools := w.tool(key(3), "drafts/x", w.now), w.tool(key(3), "tools/x", w.now)
	s := w.clean()
	wantCode(t, "by the old root", s.Verify(tools), "")
	wantCode(t, "by either", s.Verify(drafts), "")
	w.revoke(w.userDir, key(10), doc.ReasonCompromised, time.Time{})
	s = w.clean()
	wantCode(t, "the old root is gone", s.Verify(tools), diag.Scope)
	wantCode(t, "the grant is not", s.Verify(drafts), "")
}
