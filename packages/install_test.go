package packages

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ryeos/rye/lock"
)

// A user name in an address puts an "@" into the name of a directory above install
// directories. That directory is not an install directory.
func TestUnlockedBelowUser(t *testing.T) {
	e := New(Params{Base: t.TempDir()})
	locked := lock.Bundle{ID: idOf("ssh://git@host.example/x/y"), Version: "v1.0.0", Sum: "h1:x"}
	dir, err := e.installDir(locked)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(filepath.Dir(dir), "y@v0.9.0")
	for _, d := range []string{dir, old, filepath.Join(e.bundles(), "github.com", "a@v1.0.0"), filepath.Join(e.bundles(), "own")} {
		if err := os.MkdirAll(filepath.Join(d, ".ai"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := e.unlocked(&lock.Lock{Bundles: []lock.Bundle{locked}})
	if want := []string{old, filepath.Join(e.bundles(), "github.com", "a@v1.0.0")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
