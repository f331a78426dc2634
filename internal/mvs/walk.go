package mvs

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ryeos/rye/lock"
)

// walk reads the graph, each version once. A failure does not stop it: the caller
// sees every version that failed. It uses a semaphore and not errgroup.SetLimit,
// because a visit starts further visits and would wait for its own slot.
type walk struct {
	root  Root
	reqs  Reqs
	slots chan struct{}
	wg    sync.WaitGroup

	mu    sync.Mutex
	seen  map[Module]bool
	edges map[Module][]Module
	errs  Errors
	full  bool
}

// start reads everything that the root and the members require, and returns the
// direct requirements. The root itself is the zero Module.
func (w *walk) start(ctx context.Context) []Module {
	for id := range w.root.Members {
		w.follow(ctx, Module{ID: id})
	}
	w.mu.Lock()
	w.seen[Module{}] = true
	w.mu.Unlock()
	w.expand(ctx, Module{}, w.root.Requires)
	w.wg.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	roots := w.edges[Module{}]
	delete(w.edges, Module{})
	return roots
}

func (w *walk) failure(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if len(w.errs) == 0 {
		return nil
	}
	slices.SortFunc(w.errs, func(a, b ModuleError) int {
		return Compare(a.Module, b.Module)
	})
	return w.errs
}

// follow visits m in a goroutine, once.
func (w *walk) follow(ctx context.Context, m Module) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[m] || w.full {
		return
	}
	if len(w.seen) >= maxModules {
		w.full = true
		w.errs = append(w.errs, ModuleError{m, fmt.Errorf("the graph has more than %d versions", maxModules)})
		return
	}
	w.seen[m] = true
	w.wg.Go(func() { w.visit(ctx, m) })
}

func (w *walk) visit(ctx context.Context, m Module) {
	required, err := w.required(ctx, m)
	if err != nil {
		w.fail(m, err)
		return
	}
	w.expand(ctx, m, required)
}

// required returns the requirements of m. It waits for a free slot.
func (w *walk) required(ctx context.Context, m Module) ([]Module, error) {
	if dir, member := w.root.Members[m.ID]; member {
		return dir, nil
	}
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-w.slots }()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return w.reqs.Required(ctx, m.ID, m.Version)
}

// expand records the edges of m and follows them.
func (w *walk) expand(ctx context.Context, m Module, required []Module) {
	to := make([]Module, 0, len(required))
	for _, r := range required {
		allowed, err := w.allowed(ctx, r)
		if err != nil {
			w.fail(r, err)
			continue
		}
		to = append(to, allowed)
		w.follow(ctx, allowed)
	}
	slices.SortFunc(to, Compare)
	w.mu.Lock()
	w.edges[m] = slices.Compact(to)
	w.mu.Unlock()
}

// allowed returns the version that is used for a required one: a member, or the
// next version that is not excluded.
func (w *walk) allowed(ctx context.Context, m Module) (Module, error) {
	if _, member := w.root.Members[m.ID]; member {
		return Module{ID: m.ID}, nil
	}
	for range maxModules {
		if w.root.Excluded == nil || !w.root.Excluded(m) {
			return m, nil
		}
		if w.root.Next == nil {
			return m, fmt.Errorf("the version is excluded")
		}
		v, err := w.root.Next(ctx, m)
		if err != nil {
			return m, err
		}
		if v == m.Version || w.reqs.Max(v, m.Version) != v {
			return m, fmt.Errorf("the version is excluded and %s, given as the next, is not newer", v)
		}
		m.Version = v
	}
	return m, fmt.Errorf("more than %d versions are excluded", maxModules)
}

func (w *walk) fail(m Module, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.errs {
		if e.Module == m {
			return
		}
	}
	w.errs = append(w.errs, ModuleError{m, err})
}

// graph selects the highest version of each id.
func (w *walk) graph(roots []Module) *Graph {
	g := &Graph{Roots: roots, Edges: w.edges, version: map[lock.ID]string{}}
	for m := range w.seen {
		if m == (Module{}) {
			continue
		}
		if v, ok := g.version[m.ID]; ok {
			m.Version = w.reqs.Max(v, m.Version)
		}
		g.version[m.ID] = m.Version
	}
	for id, v := range g.version {
		g.Selected = append(g.Selected, Module{ID: id, Version: v})
	}
	slices.SortFunc(g.Selected, Compare)
	return g
}
