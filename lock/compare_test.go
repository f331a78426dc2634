package lock

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestCompare(t *testing.T) {
	old, now := exampleLock(t), exampleLock(t)
	old.Sort()
	now.Sort()
	if c := Compare(old, now); len(c) > 0 {
		t.Fatalf("equal locks differ: %v", c)
	}
	b := *now.Bundle(idOf("github.com/acme/core-bundle"))
	b.Version, b.Caps, b.Exec = "v1.9.0", []string{"rye.execute.tool.gh.*", "net:evil.example"}, nil
	b.Signers = append(b.Signers, "ed25519:"+digestOf("x").Hex())
	now.SetBundle(b)
	now.Bundles = slices.DeleteFunc(now.Bundles, func(b Bundle) bool { return b.ID == idOf("github.com/lab/experiments") })
	now.SetBundle(Bundle{ID: idOf("github.com/new/x"), Version: "v0.1.0", Caps: []string{"net:any"}})
	now.Manifest = sumOf(t, "other")
	now.Members[0].Manifest = sumOf(t, "other")
	now.RemoveItem(ref("tool:triage/label"))
	changes := Compare(old, now)
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	want := []string{"settings changed: manifest", "bundle github.com/acme/core-bundle v1.8.2 -> v1.9.0",
		"bundle github.com/lab/experiments v0.0.0-20260214002754-3f2c9d1e0a6b removed", "bundle github.com/new/x v0.1.0 added",
		"member ./bundles/own tools changed: manifest", "item tool:triage/label removed"}
	if !slices.Equal(lines, want) {
		t.Fatalf("%q\nwant\n%q", lines, want)
	}
	core := changes[1]
	if got := core.Field("caps"); !slices.Equal(got.Added(), []string{"net:evil.example"}) || !slices.Equal(got.Removed(), []string{"net:api.github.com"}) {
		t.Errorf("caps: %+v", got)
	}
	if got := core.Field("exec"); len(got.Added()) != 0 || !slices.Equal(got.Removed(), []string{".ai/tools/gh/issue.sh"}) {
		t.Errorf("exec: %+v", got)
	}
	if got := core.Field("signers"); len(got.Added()) != 1 || len(got.Removed()) != 0 {
		t.Errorf("signers: %+v", got)
	}
	if got := changes[3].Field("caps").Added(); !slices.Equal(got, []string{"net:any"}) {
		t.Errorf("caps of a new bundle: %q", got)
	}
	if c := Compare(nil, old); len(c) != 7 || c[1].Op != Added {
		t.Errorf("from nothing: %v", c)
	}
}

// TestCompareProperty holds that locks differ exactly when their bytes do.
func TestCompareProperty(t *testing.T) {
	for seed := range int64(300) {
		a, b := randomLock(rand.New(rand.NewSource(seed))), randomLock(rand.New(rand.NewSource(seed/2)))
		same := string(a.Render()) == string(b.Render())
		if changes := Compare(a, b); (len(changes) == 0) != same {
			t.Fatalf("seed %d: same %v, changes %v", seed, same, changes)
		}
	}
}

func TestStale(t *testing.T) {
	text := string(example(t, "rye.yaml"))
	member := MemberFile{"./bundles/own tools", manifest(t, "rye: 1\nrequire: {github.com/acme/core-bundle: v1.7.0}\n")}
	l := exampleLock(t)
	l.Members[0].Manifest = member.Manifest.Hash()
	l.Sort()
	if fs := l.Stale(manifest(t, text), member); len(fs) > 0 {
		t.Fatalf("a current lock is stale: %v", fs)
	}
	if err := l.CheckStale(manifest(t, text), member); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, want string }{
		{"version", "core-bundle: v1.8.2", "core-bundle: v1.9.0", "rye.yaml:6:3: LOCK_STALE: github.com/acme/core-bundle v1.9.0 is required, the lock was computed for v1.8.2"},
		{"a new one", "require:\n", "require:\n  github.com/new/x: v0.1.0\n", "rye.yaml:6:3: LOCK_STALE: github.com/new/x v0.1.0 is required and not locked"},
		{"one less", "  git.acme.io/sec/redact//bundles/pii: v0.3.0\n", "", "is no longer required"},
		{"use", "tool:gh/issue]", "tool:gh/pr]", "use of github.com/acme/core-bundle changed"},
		{"no use", "use:\n  github.com/acme/core-bundle: [\"directive:triage/*\", tool:gh/issue]\n", "", "use of github.com/acme/core-bundle changed"},
		{"use of nothing", "use:\n", "use:\n  github.com/new/x: [tool:x]\n", "which is not locked"},
		{"policy", "72h", "73h", "policy changed"},
		{"exclude", "[v1.8.1]", "[v1.8.0]", "policy changed"},
	} {
		changed := strings.Replace(text, tc.old, tc.new, 1)
		if changed == text {
			t.Fatalf("%s changes nothing", tc.name)
		}
		fs := l.Stale(manifest(t, changed), member)
		if len(fs) != 1 || !strings.Contains(fs[0].String(), tc.want) || diag.CodeOf(l.CheckStale(manifest(t, changed), member)) != diag.LockStale {
			t.Errorf("%s: %v, want %q", tc.name, fs, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		members []MemberFile
		want    string
	}{
		"gone":    {nil, "is not a member of the workspace"},
		"new":     {[]MemberFile{member, {"./bundles/z", member.Manifest}}, "not in the lock"},
		"changed": {[]MemberFile{{member.Path, manifest(t, "rye: 1\n")}}, "the manifest of ./bundles/own tools changed"},
	} {
		if fs := l.Stale(manifest(t, text), tc.members...); len(fs) != 1 || !strings.Contains(fs[0].Message, tc.want) {
			t.Errorf("%s: %v", name, fs)
		}
	}
	l.SetBundle(Bundle{ID: idOf("github.com/not/required"), Version: "v1.0.0"})
	if fs := l.Stale(manifest(t, text), member); len(fs) != 1 || !strings.Contains(fs[0].Message, "is locked and nothing requires it") {
		t.Errorf("an entry that nothing requires: %v", fs)
	}
	l.Bundles = slices.DeleteFunc(l.Bundles, func(b Bundle) bool { return b.ID == idOf("github.com/not/required") })
	if diag.CodeOf(Missing()) != diag.LockMissing || diag.LockMissing.Class() != diag.ClassDrift {
		t.Error("a missing lock has another code")
	}
	for _, same := range []string{strings.Replace(text, "vendor: true\n", "", 1), "# note\n" + text} {
		if fs := l.Stale(manifest(t, same), member); len(fs) > 0 {
			t.Errorf("what does not shape the lock makes it stale: %v", fs)
		}
	}
}
