package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/policy"
)

// withDirs makes a project with directories below the kind tools, more than one processor
// compares alone.
func withDirs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if device, onDisk := trackedDevice(dir); device == 0 || !onDisk {
		t.Skip("the file system of the test is not a disk whose times are used")
	}
	for i := range 2 * fewDirs {
		write(t, filepath.Join(dir, fmt.Sprintf(".ai/tools/d%03d/a.sh", i)))
	}
	write(t, filepath.Join(dir, ".ai/config/x.yaml"))
	nextTick(t)
	return dir
}

// changes are changes of a project, each with the protected path that it makes.
var changes = []struct {
	name, added string
	do          func(dir string) error
}{
	{"a file in a directory", ".ai/tools/d007/.env", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, ".ai/tools/d007/.env"), nil, 0o600)
	}},
	{"a file in the last directory", ".ai/tools/d255/.mcp.json", func(dir string) error {
		return os.WriteFile(filepath.Join(dir, ".ai/tools/d255/.mcp.json"), nil, 0o600)
	}},
	{"a new directory", ".ai/tools/new/.env", func(dir string) error {
		if err := os.Mkdir(filepath.Join(dir, ".ai/tools/new"), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, ".ai/tools/new/.env"), nil, 0o600)
	}},
	{"a directory in the place of another", ".ai/tools/d009/.env", func(dir string) error {
		other := filepath.Join(dir, "other")
		if err := os.Mkdir(other, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(other, ".env"), nil, 0o600); err != nil {
			return err
		}
		at := filepath.Join(dir, ".ai/tools/d009")
		if err := os.Rename(at, filepath.Join(dir, "was")); err != nil {
			return err
		}
		return os.Rename(other, at)
	}},
	{"another .ai with the same directories", ".ai/directives/.env", func(dir string) error {
		was := filepath.Join(dir, "was")
		if err := os.Rename(filepath.Join(dir, ".ai"), was); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(dir, ".ai"), 0o700); err != nil {
			return err
		}
		for _, kind := range []string{"tools", "config"} {
			if err := os.Rename(filepath.Join(was, kind), filepath.Join(dir, ".ai", kind)); err != nil {
				return err
			}
		}
		if err := os.Mkdir(filepath.Join(dir, ".ai/directives"), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, ".ai/directives/.env"), nil, 0o600)
	}},
}

// TestWalks searches twice, and again after each change. The second search repeats the walk
// of the first, and each change is found although the time that programs can set is put back.
func TestWalks(t *testing.T) {
	for i, c := range changes {
		if testing.Short() && i%4 > 0 {
			continue
		}
		dir := withDirs(t)
		seen := &Listings{young: time.Nanosecond}
		before := findProtected(dir, dir, nil, seen)
		w := seen.walk(walkKey{dir, ".ai"})
		if w == nil || len(w.dirs) < 2*fewDirs {
			t.Fatalf("the walk has not been kept: %v", w)
		}
		g := newGuard(nil, seen, nil, CommitRepositories)
		g.root = dir
		if !g.revisits(walkKey{dir, ".ai"}) || g.left != protectedEntries-w.count {
			t.Fatal("the walk is not repeated")
		}
		if again := findProtected(dir, dir, nil, seen); !slices.Equal(again.fixed, before.fixed) || !slices.Equal(again.kept, before.kept) {
			t.Errorf("again: %q %q, want %q %q", again.fixed, again.kept, before.fixed, before.kept)
		}
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		at := filepath.Join(dir, filepath.Dir(c.added))
		if err := os.Chtimes(at, old, old); err != nil {
			t.Fatal(err)
		}
		if after := findProtected(dir, dir, nil, seen); !slices.Contains(after.fixed, filepath.Join(dir, c.added)) {
			t.Errorf("%s: %q is not among %q", c.name, c.added, after.fixed)
		}
	}
}

// TestWalkOfAnotherTable searches with a table that has other rows than that of the walk.
func TestWalkOfAnotherTable(t *testing.T) {
	dir := withDirs(t)
	write(t, filepath.Join(dir, ".ai/tools/d001/.env"))
	nextTick(t)
	seen := &Listings{young: time.Nanosecond}
	findProtected(dir, dir, nil, seen)
	nothing := func(rel string) (policy.ProtectedPath, string, bool) {
		if rel == ".ai/tools" {
			return policy.ProtectedPath{}, "", false
		}
		return policy.Protected(rel)
	}
	want := findProtected(dir, dir, nothing, nil)
	if got := findProtected(dir, dir, nothing, seen); !slices.Equal(got.fixed, want.fixed) || !slices.Equal(got.kept, want.kept) {
		t.Errorf("%q %q, want %q %q", got.fixed, got.kept, want.fixed, want.kept)
	}
}

// TestStoredListingsFindChanges searches with the listings of an earlier process, and finds the changes
// since then.
func TestStoredListingsFindChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("walks hundreds of directories for each change")
	}
	for _, c := range changes {
		dir, store := withDirs(t), &memoryStore{}
		first := Stored(store)
		first.young = time.Nanosecond
		before := findProtected(dir, dir, nil, first)
		first.save(time.Now())
		l := Stored(store)
		if got := findProtected(dir, dir, nil, l); !slices.Equal(got.fixed, before.fixed) || !slices.Equal(got.kept, before.kept) || l.unsaved != 0 {
			t.Errorf("%q %q, want %q %q", got.fixed, got.kept, before.fixed, before.kept)
		}
		if err := c.do(dir); err != nil {
			t.Fatal(err)
		}
		if got := findProtected(dir, dir, nil, Stored(store)); !slices.Contains(got.fixed, filepath.Join(dir, c.added)) {
			t.Errorf("%s: %q is not among %q", c.name, c.added, got.fixed)
		}
	}
}
