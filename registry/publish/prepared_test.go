package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
)

// A model can prepare any number of bundles: the newest are kept.
func TestKeepPrepared(t *testing.T) {
	p := &project.Project{Env: &project.Env{}}
	p.Dirs.State = t.TempDir()
	dir := filepath.Join(deps.RegistryState(p), preparedDir)
	var last string
	for i := range maxPrepared + 5 {
		b := &PackedBundle{Host: "rye.example", ID: "acme/x", archive: fmt.Append(nil, i)}
		b.Archive = item.DigestOf(b.archive).String()
		id, err := KeepPrepared(p, b)
		if err != nil || !preparedName().MatchString(id) {
			t.Fatal(id, err)
		}
		last = id
		at := time.Date(2026, 11, 1, 0, i, 0, 0, time.UTC)
		if err := os.Chtimes(filepath.Join(dir, id+preparedExt), at, at); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != maxPrepared {
		t.Fatalf("%d are left, %v", len(left), err)
	}
	for i := range maxPrepared + 5 {
		id := item.DigestOf(fmt.Append(nil, i)).Hex()[:preparedLen]
		if _, err := os.Stat(filepath.Join(dir, id+preparedExt)); (err == nil) != (i >= 5) {
			t.Errorf("bundle %d: %v", i, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, last+preparedExt)); err != nil {
		t.Error(err)
	}
}
