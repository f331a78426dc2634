package control

import (
	"testing"
	"time"

	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/store"
)

// Runs have increasing numbers, whether or not a run above them holds the store.
func TestNumbersOfRuns(t *testing.T) {
	state := t.TempDir()
	p := &project.Project{
		Env: &project.Env{Now: time.Now}, Spaces: &space.Spaces{ProjectDir: t.TempDir()}, Dirs: userdirs.Dirs{State: state},
		Numbers: store.NewBrief(store.Dir(state), store.Params{}),
	}
	number := func(id string, want int64) {
		t.Helper()
		if got, err := Number(t.Context(), p, id, nil); err != nil || got != want {
			t.Errorf("the run %s has the number %d, not %d: %v", id, got, want, err)
		}
	}
	number("single", 1)
	release := p.Numbers.Hold()
	number("above", 2)
	number("below", 3)
	release()
	number("single", 1)
	number("last", 4)
}
