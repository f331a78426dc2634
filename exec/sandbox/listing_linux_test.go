package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestListings changes directories after they were listed. Every change of the entries is
// found, also if the time of the directory that programs can set is put back.
func TestListings(t *testing.T) {
	dir := t.TempDir()
	if device, _ := trackedDevice(dir); device == 0 {
		t.Skip("the file system of the test is not one whose times are used")
	}
	tools := filepath.Join(dir, ".ai/tools/d0")
	write(t, filepath.Join(tools, "a.sh"))
	seen := &Listings{young: time.Nanosecond}
	fixed := func() []string {
		var out []string
		for _, p := range findProtected(dir, dir, nil, seen).fixed {
			rel, err := filepath.Rel(dir, p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rel)
		}
		slices.Sort(out)
		return out
	}
	want := func(what string, more ...string) {
		t.Helper()
		if got, want := fixed(), append([]string{".ai"}, more...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		nextTick(t)
	}
	old := time.Now().Add(-time.Hour)
	putBack := func(dir string) {
		t.Helper()
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	nextTick(t)
	want("at first")

	write(t, filepath.Join(tools, ".env"))
	putBack(tools)
	want("a file was added", ".ai/tools/d0/.env")

	if err := os.Remove(filepath.Join(tools, ".env")); err != nil {
		t.Fatal(err)
	}
	putBack(tools)
	want("it was removed")

	other := filepath.Join(dir, "other")
	write(t, filepath.Join(other, "mise.toml"))
	nextTick(t)
	want("a directory was added", "other/mise.toml")
	for _, move := range [][2]string{{tools, filepath.Join(dir, "was")}, {other, tools}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	putBack(filepath.Dir(tools))
	want("a directory has the place of another", ".ai/tools/d0/mise.toml")
}

// TestListingsAreUsed shows that a directory which has not changed is not listed again,
// and that one which changed a moment ago is.
func TestListingsAreUsed(t *testing.T) {
	dir := t.TempDir()
	device, _ := trackedDevice(dir)
	if device == 0 {
		t.Skip("the file system of the test is not one whose times are used")
	}
	write(t, filepath.Join(dir, "a"))
	nextTick(t)
	for _, c := range []struct {
		young time.Duration
		kept  int
	}{{time.Nanosecond, 1}, {time.Hour, 0}} {
		seen := &Listings{young: c.young}
		for range 2 {
			if got, err := seen.read(location{path: dir}, true, device, nil); err != nil || len(got.entries) != 1 || got.count != 1 {
				t.Fatalf("%v, %v, want the entry a", got, err)
			}
		}
		if len(seen.dirs) != c.kept {
			t.Errorf("with the age %v %d directories are remembered, want %d", c.young, len(seen.dirs), c.kept)
		}
		for key, l := range seen.dirs {
			l.entries = []entry{{"remembered", false}}
			seen.dirs[key] = l
		}
		if got, _ := seen.read(location{path: dir}, true, device, nil); (got.entries[0].name == "remembered") != (c.kept == 1) {
			t.Errorf("with the age %v the entries are %v", c.young, got.entries)
		}
	}
	if got, _ := (&Listings{}).read(location{path: dir}, true, device+1, nil); len(got.entries) != 1 {
		t.Errorf("on another device: %v", got)
	}
}

// nextTick waits until the clock of the file system has another time than the last change.
func nextTick(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	first, _ := stampOf(dir)
	for now := first; now == first; now, _ = stampOf(dir) {
		if err := os.Remove(filepath.Join(dir, "x")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "x"))
	}
}
