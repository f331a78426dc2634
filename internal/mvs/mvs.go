// Package mvs implements minimal version selection (MVS): of every module that the
// requirements reach, it selects the highest version that is required.
//
// It works on a graph of bundles and versions. It reads no network and no disk, and
// does not define what a version looks like or how versions compare.
package mvs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ryeos/rye/lock"
)

// Module is one version of a bundle. A workspace member has the version "".
type Module = lock.Module

// Compare orders by id, then by the text of the version.
func Compare(a, b Module) int {
	return cmp.Or(
		a.ID.Compare(b.ID),
		cmp.Compare(a.Version, b.Version),
	)
}

// Reqs is the source of the graph.
type Reqs interface {
	// Required returns the requirements of a version, in any order. It is called
	// from several goroutines, at most once for each version.
	Required(ctx context.Context, id lock.ID, version string) ([]Module, error)
	// Max returns the newer of two versions of one module; it is total.
	Max(a, b string) string
}

// Limits of a graph and of the work on it.
const (
	maxModules  = 10_000 // versions that are read
	maxParallel = 16     // calls of Required at the same time
)

// Root is the starting point of a selection.
type Root struct {
	Requires []Module             // direct requirements
	Members  map[lock.ID][]Module // workspace members and their requirements; a member replaces every version of its id
	Excluded func(Module) bool    // nil excludes nothing
	// Next returns the next newer version of an excluded one. With nil, requiring
	// an excluded version is an error.
	Next func(ctx context.Context, m Module) (string, error)

	parallel int // 0 means maxParallel; set by tests
}

// Graph is a selection with every edge that was read.
type Graph struct {
	Selected []Module            // sorted by id; workspace members have no version
	Roots    []Module            // direct requirements, after exclusion, sorted
	Edges    map[Module][]Module // of every version that was read, sorted, after exclusion
	version  map[lock.ID]string  // selected, by id
}

// Via explains a selected version that no selected version requires: it returns
// the versions that were read, not selected, and require it. For every other
// version it returns nil.
func (g *Graph) Via(m Module) []Module {
	if slices.Contains(g.Roots, m) {
		return nil
	}
	var out []Module
	for from, to := range g.Edges {
		if !slices.Contains(to, m) {
			continue
		}
		if g.version[from.ID] == from.Version {
			return nil
		}
		out = append(out, from)
	}
	slices.SortFunc(out, Compare)
	return out
}

// Errors are the problems of several modules, sorted by module.
type Errors []ModuleError

// ModuleError is the error of one version.
type ModuleError struct {
	Module Module
	Err    error
}

func (e ModuleError) Error() string {
	return fmt.Sprintf("reading %s: %v", e.Module, e.Err)
}

// Unwrap returns the cause.
func (e ModuleError) Unwrap() error {
	return e.Err
}

func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%v (and %d more)", e[0], len(e)-1)
}

// Unwrap returns the errors of all modules.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i := range e {
		out[i] = e[i]
	}
	return out
}

// BuildList selects a version of every module that the root reaches. Its error is
// the cause of ctx, or Errors with every version that failed.
func BuildList(ctx context.Context, root Root, reqs Reqs) (*Graph, error) {
	n := root.parallel
	if n == 0 {
		n = maxParallel
	}
	w := &walk{
		root:  root,
		reqs:  reqs,
		slots: make(chan struct{}, n),
		seen:  map[Module]bool{},
		edges: map[Module][]Module{},
	}
	roots := w.start(ctx)
	if err := w.failure(ctx); err != nil {
		return nil, err
	}
	return w.graph(roots), nil
}
