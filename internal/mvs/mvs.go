// Package mvs selects versions by minimal version selection: of every module
// that can be reached the highest version that anybody requires, and no newer.
//
// It knows a graph of names and versions only: no network, no disk, no
// manifest, no rule of what a version looks like.
package mvs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Module is one version of a module. A major version that may stand beside
// another has an ID of its own. The version "" is that of a workspace member.
type Module struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// String renders "id version".
func (m Module) String() string {
	if m.Version == "" {
		return m.ID
	}
	return m.ID + " " + m.Version
}

// Compare orders by id, then by the text of the version.
func Compare(a, b Module) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Version, b.Version))
}

// Reqs knows what each version requires.
type Reqs interface {
	// Required returns what a version requires, in any order. It is called
	// from several goroutines, at most once for each version.
	Required(ctx context.Context, id, version string) ([]Module, error)
	// Max returns the newer of two versions of one module; it is total.
	Max(a, b string) string
}

// Limits of a graph and of the work on it.
const (
	MaxModules      = 10_000 // versions that are looked at
	DefaultParallel = 16
)

// Root is where selection begins.
type Root struct {
	Requires []Module            // what the root requires
	Members  map[string][]Module // workspace members and what they require: they stand for every version of their id
	Excluded func(Module) bool   // nil: nothing is
	// Next returns the next newer version that is not excluded, for one that
	// is. With nil, requiring an excluded version is an error.
	Next     func(ctx context.Context, m Module) (string, error)
	Parallel int // calls of Required at one time; 0: DefaultParallel
}

// Graph is the answer: what was selected, and every edge that was read.
type Graph struct {
	Selected []Module            // sorted by id; workspace members have no version
	Roots    []Module            // what the root requires, after exclusion, sorted
	Edges    map[Module][]Module // of every version that was looked at, sorted, after exclusion
	version  map[string]string
}

// Version returns the selected version of an id.
func (g *Graph) Version(id string) (string, bool) {
	v, ok := g.version[id]
	return v, ok
}

// Via returns the versions that were looked at but not selected and that
// require this one, where nothing selected does: the only reason why it is in
// the list. It is nil for all others.
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

// ModuleError is what went wrong at one version.
type ModuleError struct {
	Module Module
	Err    error
}

func (e ModuleError) Error() string { return fmt.Sprintf("reading %s: %v", e.Module, e.Err) }

// Unwrap returns the cause.
func (e ModuleError) Unwrap() error { return e.Err }

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

// BuildList selects a version of everything that the root reaches.
func BuildList(ctx context.Context, root Root, reqs Reqs) (*Graph, error) {
	return build(ctx, root, reqs, nil)
}

// Upgrade selects as BuildList does, with the targets required as well.
func Upgrade(ctx context.Context, root Root, reqs Reqs, targets ...Module) (*Graph, error) {
	root.Requires = append(slices.Clone(root.Requires), targets...)
	return build(ctx, root, reqs, nil)
}

// UpgradeAll selects as BuildList does, with everything that is reached raised
// to what newest returns for it; newest may return the version it was given.
func UpgradeAll(ctx context.Context, root Root, reqs Reqs, newest func(context.Context, Module) (string, error)) (*Graph, error) {
	return build(ctx, root, reqs, newest)
}
