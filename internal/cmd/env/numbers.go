package env

import (
	"context"
	"errors"
	"sync"

	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/store"
)

// Numbers returns a function that returns the number of a thread or run in the user account, 0
// if the registry does not have it. A number does not change, so each is read once.
func Numbers(ctx context.Context, w *cli.World) func(id string) int64 {
	var known sync.Map
	return func(id string) int64 {
		if n, ok := known.Load(id); ok {
			return n.(int64)
		}
		e := project.Env{Getenv: w.Getenv}
		dir := e.UserDirs().State
		if dir == "" || !graph.IsID(id) {
			return 0
		}
		s, err := store.Open(
			ctx,
			store.Dir(dir),
			store.Params{Now: w.Now, Existing: true},
		)
		if err != nil {
			return 0
		}
		h, _, err := s.Handle(ctx, id, 0)
		if err = errors.Join(err, s.Close()); err == nil && h.Number > 0 {
			known.Store(id, h.Number)
		}
		return h.Number
	}
}
