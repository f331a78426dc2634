package mvs

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// walk reads the graph, each version once, a bounded number at one time. A
// failure does not stop it: the caller sees every module that cannot be had.
type walk struct {
	root   Root
	reqs   Reqs
	newest func(context.Context, Module) (string, error)
	slots  chan struct{}
	wg     sync.WaitGroup

	mu    sync.Mutex
	seen  map[Module]bool
	edges map[Module][]Module
	errs  Errors
	full  bool
}

func build(ctx context.Context, root Root, reqs Reqs, newest func(context.Context, Module) (string, error)) (*Graph, error) {
	n := root.Parallel
	if n <= 0 {
		n = DefaultParallel
	}
	w := &walk{root: root, reqs: reqs, newest: newest, slots: make(chan struct{}, n),
		seen: map[Module]bool{}, edges: map[Module][]Module{}}
	roots := w.start(ctx)
	w.wg.Wait()
	if err := w.failure(ctx); err != nil {
		return nil, err
	}
	return w.graph(roots), nil
}

// start follows the requirements of the root and of the members. The root is
// the zero Module.
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
	slices.SortFunc(w.errs, func(a, b ModuleError) int { return Compare(a.Module, b.Module) })
	return w.errs
}

// follow reads m in a goroutine, unless that was begun before.
func (w *walk) follow(ctx context.Context, m Module) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[m] || w.full {
		return
	}
	if len(w.seen) >= MaxModules {
		w.full = true
		w.errs = append(w.errs, ModuleError{m, fmt.Errorf("the graph has more than %d versions", MaxModules)})
		return
	}
	w.seen[m] = true
	w.wg.Add(1)
	go func() {
		defer w.wg.Done()
		w.visit(ctx, m)
	}()
}

func (w *walk) visit(ctx context.Context, m Module) {
	required, err := w.required(ctx, m)
	if err != nil {
		w.fail(m, err)
		return
	}
	w.expand(ctx, m, required)
	if _, member := w.root.Members[m.ID]; w.newest == nil || member {
		return
	}
	v, err := w.newest(ctx, m)
	if err != nil {
		w.fail(m, err)
		return
	}
	w.follow(ctx, Module{m.ID, v})
}

// required asks for what m requires, when there is a free slot.
func (w *walk) required(ctx context.Context, m Module) ([]Module, error) {
	if own, member := w.root.Members[m.ID]; member {
		return own, nil
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

// expand notes the edges of m and follows them.
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

// allowed maps a requirement to the version that is taken for it.
func (w *walk) allowed(ctx context.Context, m Module) (Module, error) {
	if _, member := w.root.Members[m.ID]; member {
		return Module{ID: m.ID}, nil
	}
	for range MaxModules {
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
	return m, fmt.Errorf("more than %d versions are excluded", MaxModules)
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

// graph selects the highest version of each id that was seen.
func (w *walk) graph(roots []Module) *Graph {
	g := &Graph{Roots: roots, Edges: w.edges, version: map[string]string{}}
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
		g.Selected = append(g.Selected, Module{id, v})
	}
	slices.SortFunc(g.Selected, Compare)
	return g
}
