package lock

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// gitMerge merges as git does: the text, and whether it has conflicts.
func gitMerge(t *testing.T, ours, base, theirs []byte, options ...string) ([]byte, bool) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	args := append([]string{"merge-file", "-p", "-q"}, options...)
	for i, b := range [][]byte{ours, base, theirs} {
		name := filepath.Join(dir, []string{"ours", "base", "theirs"}[i])
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	cmd := exec.CommandContext(t.Context(), git, args...)
	out, err := cmd.Output()
	if _, conflicts := err.(*exec.ExitError); err != nil && !conflicts {
		t.Fatal(err)
	}
	return out, err != nil
}

// locked is a lock of bundles, each with a requirement of its own.
func locked(t testing.TB, m *ProjectFile, ids ...string) *Lock {
	l := &Lock{Manifest: m.Settings()}
	for _, id := range ids {
		l.SetBundle(Bundle{ID: idOf(id), Version: "v1.0.0", Require: "v1.0.0", URL: "https://" + id, Ref: "refs/tags/v1.0.0",
			Commit: object("a"), Tree: object("b"), Sum: sumOf(t, id)})
	}
	return l
}

func requiring(t testing.TB, ids ...string) *ProjectFile {
	text := "rye: 1\nrequire:\n"
	for _, id := range ids {
		text += "  " + id + ": v1.0.0\n"
	}
	return manifest(t, text)
}

// TestBranchesMerge adds a bundle in each of two branches: git merges the locks
// without a conflict, and the result is what rye would have written for both,
// and current for the merged manifest.
func TestBranchesMerge(t *testing.T) {
	b, d := "github.com/x/b", "github.com/x/d"
	for _, tc := range []struct{ ours, theirs string }{
		{"github.com/x/a", "github.com/x/c"},
		{"github.com/x/c", "github.com/x/e"},
		{"github.com/x/a", "github.com/x/e"},
	} {
		m := requiring(t, b, d)
		base := locked(t, m, b, d).Render()
		ours, theirs := locked(t, m, b, d, tc.ours).Render(), locked(t, m, b, d, tc.theirs).Render()
		out, conflict := gitMerge(t, ours, base, theirs)
		want := locked(t, m, b, d, tc.ours, tc.theirs)
		if conflict || !bytes.Equal(out, want.Render()) {
			t.Errorf("%s and %s: conflict %v\n%s", tc.ours, tc.theirs, conflict, out)
			continue
		}
		l, fs := ParseLock(out)
		if l == nil || len(fs) > 0 {
			t.Fatal(fs)
		}
		if stale := l.Stale(requiring(t, b, d, tc.ours, tc.theirs)); len(stale) > 0 {
			t.Errorf("the merged lock is stale: %v", stale)
		}
	}
}

// TestBranchesUpdate changes neighbouring entries in two branches.
func TestBranchesUpdate(t *testing.T) {
	a, b := "github.com/x/a", "github.com/x/b"
	m := requiring(t, a, b)
	change := func(id string) []byte {
		l := locked(t, m, a, b)
		e := *l.Bundle(idOf(id))
		e.Version, e.Sum, e.Ref = "v1.1.0", sumOf(t, "new "+id), "refs/tags/v1.1.0"
		l.SetBundle(e)
		return l.Render()
	}
	out, conflict := gitMerge(t, change(a), locked(t, m, a, b).Render(), change(b))
	l, fs := ParseLock(out)
	if conflict || l == nil || len(fs) > 0 || l.Bundle(idOf(a)).Version != "v1.1.0" || l.Bundle(idOf(b)).Version != "v1.1.0" {
		t.Errorf("conflict %v, %v\n%s", conflict, fs, out)
	}
}

// TestConflict merges two branches that change one entry and add two bundles at one
// position: both sides are read with every style of markers.
func TestConflict(t *testing.T) {
	a, y, z := "github.com/x/a", "github.com/x/y", "github.com/x/z"
	m := requiring(t, a)
	side := func(version, more string) *Lock {
		l := locked(t, m, a, more)
		e := *l.Bundle(idOf(a))
		e.Version, e.Sum = version, sumOf(t, version)
		l.SetBundle(e)
		return l
	}
	ours, theirs := side("v1.1.0", y), side("v1.2.0", z)
	for _, style := range [][]string{nil, {"--diff3"}, {"--zdiff3"}, {"--marker-size=12"}} {
		out, conflict := gitMerge(t, ours.Render(), locked(t, m, a).Render(), theirs.Render(), style...)
		if !conflict || !Conflicted(out) {
			t.Fatalf("%v: no conflict in\n%s", style, out)
		}
		if l, fs := ParseLock(out); l != nil || fs[0].Reason == "" {
			t.Errorf("%v: %v", style, fs)
		}
		o, th, fs := ParseLockConflict(out)
		if len(fs) > 0 || o == nil || th == nil {
			t.Fatalf("%v: %v in\n%s", style, fs, out)
		}
		if !bytes.Equal(o.Render(), ours.Render()) || !bytes.Equal(th.Render(), theirs.Render()) {
			t.Errorf("%v: the sides are\n%s\nand\n%s", style, o.Render(), th.Render())
		}
		pins, err := Pins(o, th)
		if err != nil || len(pins) != 4 || pins[Module{ID: idOf(z), Version: "v1.0.0"}].Sum != sumOf(t, z) {
			t.Errorf("%v: pins %v %v", style, pins, err)
		}
	}
	other := side("v1.1.0", z)
	e := *other.Bundle(idOf(a))
	e.Sum = sumOf(t, "evil")
	other.SetBundle(e)
	if _, err := Pins(ours, other); diag.CodeOf(err) != diag.SumConflict {
		t.Errorf("two sums for one version: %v", err)
	}
}

func TestBadConflicts(t *testing.T) {
	good := string(locked(t, requiring(t), "github.com/x/a").Render())
	for name, tc := range map[string]struct{ text, want string }{
		"only an end":    {good + ">>>>>>> x\n", "unexpected conflict marker"},
		"only a middle":  {good + "=======\n", "unexpected conflict marker"},
		"no end":         {good + "<<<<<<< x\n=======\n", "has no end marker"},
		"one in another": {good + "<<<<<<< x\n<<<<<<< y\n=======\n>>>>>>> y\n", "unexpected conflict marker"},
		"a bad side":     {"<<<<<<< x\n" + good + "=======\nrye-lock: 9\n>>>>>>> y\n", "the side theirs: the file has format 9"},
	} {
		o, th, fs := ParseLockConflict([]byte(tc.text))
		if o != nil || th != nil || len(fs) == 0 || !strings.Contains(fs[0].Message, tc.want) {
			t.Errorf("%s: %v", name, fs)
		}
	}
	for _, line := range []string{"<<<<<< x", "<<<<<<<x", "a <<<<<<< x", "======", ""} {
		if Conflicted([]byte(line + "\n")) {
			t.Errorf("%q is taken for a marker", line)
		}
	}
}

// TestSumUnion merges the sums of two branches as merge=union does.
func TestSumUnion(t *testing.T) {
	line := func(id, s string) SumLine {
		return SumLine{Module{ID: idOf(id), Version: "v1.0.0"}, sumOf(t, s)}
	}
	add := func(b []byte, lines ...SumLine) []byte {
		t.Helper()
		out, err := AppendSum(b, lines...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	base := add(nil, line("github.com/x/m", "m"))
	ours := add(base, line("github.com/x/a", "a"), line("github.com/x/c", "c"))
	theirs := add(base, line("github.com/x/b", "b"), line("github.com/x/a", "a"))
	out, _ := gitMerge(t, ours, base, theirs, "--union")
	s, fs := ParseSum(out)
	if s == nil || len(fs) > 0 || s.Len() != 4 {
		t.Fatalf("%v in\n%s", fs, out)
	}
	evil := add(base, line("github.com/x/a", "evil"))
	out, _ = gitMerge(t, ours, base, evil, "--union")
	if s, fs := ParseSum(out); s != nil || diag.Worst(fs) != diag.SumConflict {
		t.Errorf("two hashes of one version merge: %v", fs)
	}
}

// TestMerge merges locks whose sides changed entries of items at random: what only one
// side changed is in the result, in whatever order the sides are given.
func TestMerge(t *testing.T) {
	m := &ProjectFile{}
	entry := func(id string, version byte) Item {
		link := Link{item.Ref{Kind: item.Tool, ID: id}, item.DigestOf([]byte{version})}
		return Item{Ref: link.Ref, Digest: link.Digest, Chain: []Link{link}}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		base, ours, theirs := locked(t, m, "example.test/a"), locked(t, m, "example.test/a"), locked(t, m, "example.test/a")
		want := map[string]byte{}
		for i := range 12 {
			id := "t" + strconv.Itoa(i)
			versions := [3]byte{byte(random.IntN(3)), byte(random.IntN(3)), byte(random.IntN(3))} // 0 is no entry
			for j, l := range []*Lock{base, ours, theirs} {
				if versions[j] > 0 {
					l.SetItem(entry(id, versions[j]))
				}
			}
			b, o, th := versions[0], versions[1], versions[2]
			switch {
			case o == b, o == 0 && th != b:
				want[id] = th
			default:
				want[id] = o
			}
		}
		got, ok := Merge(base, ours, theirs)
		if !ok {
			t.Fatal("the items alone do not merge")
		}
		for id, version := range want {
			e := got.Item(item.Ref{Kind: item.Tool, ID: id})
			if version == 0 && e != nil || version > 0 && (e == nil || e.Digest != entry(id, version).Digest) {
				t.Errorf("%s: %v, want version %d", id, e, version)
			}
		}
		if again, fs := ParseLock(got.Render()); len(fs) > 0 || !bytes.Equal(again.Render(), got.Render()) {
			t.Fatalf("the result is not canonical: %v", fs)
		}
	}
}

// TestMergeBundles expects that versions of bundles are taken from one side only.
func TestMergeBundles(t *testing.T) {
	m := &ProjectFile{}
	base := locked(t, m, "example.test/a")
	more, other := locked(t, m, "example.test/a", "example.test/b"), locked(t, m, "example.test/a", "example.test/c")
	if got, ok := Merge(base, base, more); !ok || !bytes.Equal(got.Render(), more.Render()) {
		t.Errorf("their bundle: %v", ok)
	}
	if got, ok := Merge(base, more, base); !ok || !bytes.Equal(got.Render(), more.Render()) {
		t.Errorf("our bundle: %v", ok)
	}
	if _, ok := Merge(base, more, other); ok {
		t.Error("different bundles of both sides merge without a new resolution")
	}
}
