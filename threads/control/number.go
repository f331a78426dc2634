package control

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/waiting"
)

// Number returns the number of a new run. A run that the registry cannot record works
// without one: it needs no account as long as it starts no thread.
func Number(
	ctx context.Context,
	p *project.Project,
	id string,
	inputs map[string]any,
) (n int64, err error) {
	if p.Dirs.State == "" {
		return 0, nil
	}
	defer p.Numbers.Hold()()
	err = p.Numbers.Do(ctx, func(s *store.Store) (err error) {
		name := handle.Name(inputs)
		nothing := ""
		n, err = s.NewNumber(ctx, store.Handle{
			ID:      id,
			Project: p.Spaces.ProjectDir,
			Name:    &name,
			Waiting: &nothing,
		})
		return err
	})
	if diag.CodeOf(err) == diag.Cancelled {
		return 0, err
	}
	return n, nil
}

// knownThreads returns the threads and runs of the user account. A text that is not a number is
// also found without the registry, which a later version can have written.
func knownThreads(ctx context.Context, p *project.Project) (out []handle.Known, err error) {
	err = ledger.WithStore(ctx, p, func(s *store.Store) error {
		list, err := s.Handles(ctx, "")
		for _, h := range list {
			k := handle.Known{ID: h.ID, Project: h.Project, Number: h.Number}
			if h.Name != nil {
				k.Name = *h.Name
			}
			out = append(out, k)
		}
		return err
	})
	return out, err
}

// Named is a thread or run of the project as a completion offers it.
type Named struct {
	ID      string
	Number  int64  // 0 if it has none
	About   string // the directive or graph
	Started time.Time
}

// ListNamed returns the threads and runs of the project that have a log, the newest first. It
// reads no log.
func ListNamed(ctx context.Context, p *project.Project) ([]Named, error) {
	ids, err := graph.IDs(p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	handles := map[string]store.Handle{}
	rows := map[string]store.Row{}
	err = ledger.WithStore(ctx, p, func(s *store.Store) error {
		all, err := s.Handles(ctx, p.Spaces.ProjectDir)
		for _, h := range all {
			handles[h.ID] = h
		}
		if err != nil {
			return err
		}
		list, err := s.Threads(ctx, p.Spaces.ProjectDir, "")
		for _, r := range list {
			rows[r.Thread] = r
		}
		return err
	})
	out := make([]Named, 0, len(ids))
	for _, id := range ids {
		t := Named{
			ID:      id,
			Number:  handles[id].Number,
			About:   id[:strings.LastIndexByte(id, '-')],
			Started: graph.TimeOf(id),
		}
		if r, ok := rows[id]; ok {
			_, t.About, _ = strings.Cut(r.Ref, ":")
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Named) int {
		return cmp.Or(
			b.Started.Compare(a.Started),
			cmp.Compare(b.ID, a.ID),
		)
	})
	return out, err
}

// describe completes rows of the registry that an earlier version wrote: they get numbers, and
// names and questions as the logs state them.
func describe(ctx context.Context, p *project.Project, s *store.Store, costs []store.Cost) error {
	var list []store.Handle
	at := map[string]*store.Cost{}
	for i := range costs {
		c := &costs[i]
		if c.Number > 0 && c.Described || c.Kind != "thread" && c.Kind != "run" {
			continue
		}
		h := handleOf(ctx, p, c)
		c.Name = *h.Name
		c.Waiting = *h.Waiting
		list = append(list, h)
		at[h.ID] = c
	}
	if len(list) == 0 {
		return nil
	}
	if err := s.Describe(ctx, list); err != nil {
		return err
	}
	for id, c := range at {
		h, _, err := s.Handle(ctx, id, 0)
		if err != nil {
			return err
		}
		c.Number = h.Number
	}
	return nil
}

// handleOf reads the name of a thread and its question in the logs. A log that cannot be read
// is the error of the commands that read it.
func handleOf(ctx context.Context, p *project.Project, c *store.Cost) store.Handle {
	name := ""
	wait := ""
	s, err := threads.ReadStarted(c.Project, c.Thread)
	if err == nil {
		name = handle.Name(s.Inputs)
	} else if inputs, err := graph.Inputs(c.Project, c.Thread); err == nil {
		name = handle.Name(inputs)
	}
	w, err := waiting.Of(ctx, c.Project, endOfChain(c.Project, c.Thread))
	if err == nil {
		wait = w.Encode()
	}
	return store.Handle{
		ID:      c.Thread,
		Project: c.Project,
		Name:    &name,
		Waiting: &wait,
	}
}
