//go:build unix

package cas

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNothingOutside checks that no removal of the store leaves it: a link in place of one of
// its directories is refused, and a link in one of them is removed as a link.
func TestNothingOutside(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, temporary+"old", "file")
	must(t, os.MkdirAll(filepath.Dir(kept), 0o755))
	must(t, os.WriteFile(kept, []byte("x"), 0o444))
	past := time.Now().Add(-2 * stale)
	must(t, os.Chtimes(filepath.Dir(kept), past, past))
	must(t, os.Mkdir(filepath.Join(outside, "key"), 0o755))
	exists := func(what string) {
		t.Helper()
		for _, path := range []string{kept, filepath.Join(outside, "key")} {
			if _, err := os.Lstat(path); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if s, err := os.Stat(filepath.Dir(kept)); err != nil || s.Mode().Perm() != 0o755 {
			t.Fatalf("%s: the directory outside has the mode %v, %v", what, s.Mode(), err)
		}
	}

	s := newStore(t)
	must(t, os.MkdirAll(filepath.Join(s.Dir, snapshots, "key"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(s.Dir, snapshots, "key", "link")))
	must(t, os.Symlink(filepath.Dir(kept), filepath.Join(s.Dir, snapshots, temporary+"link")))
	must(t, os.Symlink(outside, filepath.Join(s.Dir, trees)))
	must(t, os.MkdirAll(filepath.Join(s.Dir, items, temporary+"own"), 0o755))
	must(t, os.Chtimes(filepath.Join(s.Dir, items, temporary+"own"), past, past))
	s.sweepAll()
	exists("sweep")
	if _, err := os.Lstat(filepath.Join(s.Dir, items, temporary+"own")); err == nil {
		t.Error("a temporary directory of the store is not swept")
	}
	if err := s.Remove("key"); err != nil {
		t.Fatal(err)
	}
	exists("remove")
	if keys, err := s.Snapshots(); err != nil || len(keys) != 0 {
		t.Errorf("keys %v, %v", keys, err)
	}

	must(t, os.RemoveAll(filepath.Join(s.Dir, snapshots)))
	must(t, os.Symlink(outside, filepath.Join(s.Dir, snapshots)))
	if err := s.Remove("key"); err == nil {
		t.Error("a directory behind a link is removed")
	}
	if keys, err := s.Snapshots(); err == nil {
		t.Errorf("keys behind a link: %v", keys)
	}
	exists("a link in place of cas")
}
