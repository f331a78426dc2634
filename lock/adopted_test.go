package lock

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func adoptedSource(t testing.TB, id, commit string) Adopted {
	t.Helper()
	return Adopted{ID: idOf(id), Version: "v0.0.0-20260701000000-" + strings.Repeat(commit, 12), Require: object(commit), Use: []string{"skill:pdf"},
		URL: "https://" + id, Commit: object(commit), Tree: object("e"), Sum: sumOf(t, id+commit), Exec: []string{".ai/skills/pdf/x.sh"},
		Reviews: []Reviewed{{"ed25519:" + fingerprint, digestOf(commit)}}}
}

// TestAdopted: a lock with an adopted source is format 1.2, and every other lock stays 1.1.
func TestAdopted(t *testing.T) {
	l := exampleLock(t)
	plain := string(l.Render())
	if !strings.HasPrefix(plain, "rye-lock: 1.1\n") {
		t.Errorf("a lock without adopted sources begins %.20q", plain)
	}
	SetAdopted(l, adoptedSource(t, "github.com/acme/skills", "9"))
	text := l.Render()
	got, fs := ParseLock(text)
	if got == nil || len(fs) > 0 || !strings.HasPrefix(string(text), "rye-lock: 1.2\n") || string(got.Render()) != string(text) {
		t.Fatalf("%v\n%s", fs, text)
	}
	if a := got.AdoptedSource(idOf("github.com/acme/skills")); a == nil || a.Commit != object("9") || a.Reviews[0].Digest != digestOf("9") {
		t.Errorf("%+v", a)
	}
	got.Adopted = nil
	if string(got.Render()) != plain {
		t.Error("without its adopted source the lock is not the one before")
	}
	changes := Compare(exampleLock(t), l)
	if len(changes) != 2 || changes[0].Kind != "head" || changes[1].Kind != "adopted" || changes[1].Op != Added {
		t.Errorf("%v", changes)
	}
	for name, bad := range map[string]string{
		"an earlier format":   strings.Replace(string(text), "rye-lock: 1.2", "rye-lock: 1.1", 1),
		"no reviews":          strings.Replace(string(text), "  reviews: [ed25519:"+fingerprint+" "+digestOf("9").String()+"]\n", "", 1),
		"another address":     strings.Replace(string(text), "  url: https://github.com/acme/skills", "  url: https://github.com/evil/skills", 1),
		"a later unknown one": strings.Replace(strings.Replace(string(text), "rye-lock: 1.2", "rye-lock: 1.3", 1), "- adopted:", "- borrowed:", 1),
	} {
		if l, fs := ParseLock([]byte(bad)); l != nil || !diag.Failed(fs) {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestAdoptedStale: the entry is compared with require and use of the project file.
func TestAdoptedStale(t *testing.T) {
	text := "rye: 1\nrequire: {github.com/acme/skills: \"" + object("9") + "\"}\nuse: {github.com/acme/skills: [\"skill:pdf\"]}\n"
	m := manifest(t, text)
	l := &Lock{Manifest: m.Settings()}
	SetAdopted(l, adoptedSource(t, "github.com/acme/skills", "9"))
	if fs := l.Stale(m); len(fs) > 0 {
		t.Errorf("%v", fs)
	}
	for _, now := range []string{strings.Replace(text, object("9"), object("8"), 1), strings.Replace(text, "skill:pdf", "skill:docx", 1), "rye: 1\n"} {
		if fs := l.Stale(manifest(t, now)); len(fs) == 0 {
			t.Errorf("not stale for\n%s", now)
		}
	}
}

// TestAdoptedMerge: two branches that adopt different sources merge; two that change one
// do not.
func TestAdoptedMerge(t *testing.T) {
	base, ours, theirs := exampleLock(t), exampleLock(t), exampleLock(t)
	SetAdopted(ours, adoptedSource(t, "github.com/acme/skills", "9"))
	SetAdopted(theirs, adoptedSource(t, "github.com/lab/skills", "8"))
	merged, ok := Merge(base, ours, theirs)
	if !ok || len(merged.Adopted) != 2 {
		t.Fatalf("%v %+v", ok, merged)
	}
	SetAdopted(theirs, adoptedSource(t, "github.com/acme/skills", "8"))
	if _, ok := Merge(base, ours, theirs); ok {
		t.Error("two commits of one source merge")
	}
	if merged, ok = Merge(ours, ours, base); !ok || len(merged.Adopted) != 0 {
		t.Error("a removed source stays")
	}
}

func TestReviewRules(t *testing.T) {
	key := "ed25519:" + fingerprint
	m := manifest(t, "rye: 1\ntrust: {\"*\": {reviewers: [\""+key+"\"], reviews: 1}, github.com/acme: {reviews: 2}, github.com/lab: {signers: [\""+key+"\"]}}\npolicy: {adopted: deny}\n")
	if got := m.ReviewRules("github.com/acme/skills"); len(got) != 2 || got[0].Reviewers[0] != key || got[1].Reviews != 2 || got[1].Reviewers != nil {
		t.Errorf("%+v", got)
	}
	if len(m.Trust) != 1 || !m.Policy.AdoptedDeny {
		t.Errorf("%+v %+v", m.Trust, m.Policy)
	}
	for _, bad := range []string{"trust: {\"*\": {reviewers: []}}", "trust: {\"*\": {reviewers: [\"" + key + "\"], reviews: 2}}", "trust: {\"*\": {reviews: 0}}", "policy: {adopted: yes}"} {
		if m, _ := ParseProjectFile([]byte("rye: 1\n" + bad + "\n")); m != nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	if manifest(t, "rye: 1\ntrust: {\"*\": {reviews: 2}}\n").Settings() == manifest(t, "rye: 1\ntrust: {\"*\": {reviews: 3}}\n").Settings() {
		t.Error("the settings do not depend on the reviews")
	}
}
