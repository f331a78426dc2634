package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReplacedDirectory puts another directory in the place of one with protected paths.
// Where inode numbers are not stable, that of an unchanged directory looks the same, and
// nothing of the user is moved.
func TestReplacedDirectory(t *testing.T) {
	for _, stable := range []bool{true, false} {
		t.Run(fmt.Sprint("stable=", stable), func(t *testing.T) {
			t.Parallel()
			dir, to := t.TempDir(), t.TempDir()
			config := filepath.Join(dir, "sub/.git/config")
			write(t, filepath.Join(dir, "sub/.git/HEAD"))
			write(t, config)
			search := newGuard(nil, nil, nil, CommitRepositories)
			search.stable = func(string) bool { return stable }
			before := search.find(dir, dir, openAnchor(dir))
			defer before.root.close()
			if !slices.Contains(before.fixed, config) {
				t.Fatalf("%q is not protected: %q", config, before.fixed)
			}
			if err := os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "old")); err != nil {
				t.Fatal(err)
			}
			write(t, config)
			after := newGuard(nil, nil, nil, CommitRepositories)
			after.stable = search.stable
			if got := after.find(dir, dir, before.root).same(before, config); got == stable {
				t.Errorf("the same directory: %v", got)
			}
			moved, err := quarantine(dir, dir, to, 0, before, nil, nil, nil, CommitRepositories)
			if got := slices.Contains(moved, config); err != nil || got != (stable && keepsNumbers(dir)) {
				t.Errorf("moved %q, %v", moved, err)
			}
		})
	}
}
