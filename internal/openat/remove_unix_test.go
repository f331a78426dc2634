//go:build unix

package openat

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// victim makes a directory outside of what is removed, which nothing may change, and returns
// a function that checks it.
func victim(t *testing.T) (dir string, check func(what string)) {
	t.Helper()
	dir = t.TempDir()
	sub, file := filepath.Join(dir, "sub"), filepath.Join(dir, "sub", "file")
	for _, err := range []error{os.Mkdir(sub, 0o755), os.WriteFile(file, []byte("x"), 0o644), os.Chmod(sub, 0o511)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(sub, 0o700) })
	return dir, func(what string) {
		t.Helper()
		s, err := os.Stat(sub)
		if err != nil || s.Mode().Perm() != 0o511 {
			t.Fatalf("%s: the directory outside has the mode %v, %v", what, s.Mode(), err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s: the file outside: %v", what, err)
		}
	}
}

// exchanged replaces a directory by a link, as a program does between two steps of a removal.
func exchanged(t *testing.T, dir, target string) {
	t.Helper()
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, dir); err != nil {
		t.Fatal(err)
	}
}

// TestRemoveAll removes directories that their owner may not read, and links as links.
func TestRemoveAll(t *testing.T) {
	outside, check := victim(t)
	tree := filepath.Join(t.TempDir(), "tree")
	for _, d := range []string{"a/b/c", "closed/in", "readonly/in"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.Symlink(outside, filepath.Join(tree, "a", "link")), os.Symlink(filepath.Join(outside, "sub", "file"), filepath.Join(tree, "a", "b", "file")),
		os.Chmod(filepath.Join(tree, "closed"), 0), os.Chmod(filepath.Join(tree, "readonly"), 0o555),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(tree); err == nil {
		t.Error("the tree exists")
	}
	check("links in the tree")
	link := filepath.Join(filepath.Dir(tree), "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	if err := RemoveAll(link); err != nil {
		t.Fatal(err)
	}
	check("a link in place of the tree")
	if err := RemoveAll(filepath.Join(tree, "none")); err != nil {
		t.Errorf("what does not exist: %v", err)
	}
}

// TestRemoveByPath is the control: a walk by paths, between whose steps a program exchanges a
// directory for a link, changes a directory outside.
func TestRemoveByPath(t *testing.T) {
	outside, _ := victim(t)
	tree := t.TempDir()
	d := filepath.Join(tree, "d")
	if err := os.Mkdir(d, 0o755); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(tree, func(at string, e fs.DirEntry, err error) error {
		if at == d {
			exchanged(t, d, filepath.Join(outside, "sub"))
		}
		if e.IsDir() {
			_ = os.Chmod(at, 0o700)
		}
		return nil
	})
	if s, err := os.Stat(filepath.Join(outside, "sub")); err != nil || s.Mode().Perm() != 0o700 {
		t.Errorf("the control changes nothing outside: %v, %v", s.Mode(), err)
	}
}

// TestRaceRemoveAll removes trees in which a program exchanges directories for links all the
// time, and adds directories that cannot be read. Nothing outside changes.
func TestRaceRemoveAll(t *testing.T) {
	outside, check := victim(t)
	base := t.TempDir()
	tree := filepath.Join(base, "tree")
	var stop atomic.Bool
	var swaps atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		d, aside := filepath.Join(tree, "d"), filepath.Join(tree, "aside")
		for !stop.Load() {
			_ = os.MkdirAll(filepath.Join(d, "sub"), 0o755)
			_ = os.Chmod(filepath.Join(d, "sub"), 0)
			_ = os.Rename(d, aside)
			if os.Symlink(outside, d) == nil {
				swaps.Add(1)
			}
			runtime.Gosched()
			_ = os.Remove(d)
			_ = os.RemoveAll(aside)
		}
	}()
	for end := time.Now().Add(300 * time.Millisecond); swaps.Load() < 200 || time.Now().Before(end); {
		_ = os.MkdirAll(filepath.Join(tree, "d", "sub"), 0o755)
		_ = RemoveAll(tree) // the program may add files: it is not always empty
		check("while directories are exchanged")
	}
	stop.Store(true)
	<-done
	if err := RemoveAll(tree); err != nil {
		t.Errorf("in the end: %v", err)
	}
	check("in the end")
}
