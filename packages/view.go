package packages

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/why"
)

// Listed is one locked bundle and its state in the space.
type Listed struct {
	ID      string   `json:"id"`
	Version string   `json:"version"`
	Direct  bool     `json:"direct"`
	State   string   `json:"state"` // installed, missing, changed or folder
	Path    string   `json:"path,omitempty"`
	Signers []string `json:"signers,omitempty"`
	Caps    []string `json:"caps,omitempty"`
	Use     []string `json:"use,omitempty"`
	Replace string   `json:"replace,omitempty"`
}

// The states of a listed bundle.
const (
	StateInstalled = "installed"
	StateMissing   = "missing"
	StateChanged   = "changed" // the installed files differ from the lock
	StateFolder    = "folder"  // used from a directory of this machine
)

// List returns the locked bundles. It changes nothing and uses no network.
func (e *Engine) List(ctx context.Context) ([]Listed, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	out := []Listed{}
	if st.lock == nil {
		return out, nil
	}
	list, err := e.outdated(ctx, st.lock)
	if err != nil {
		return nil, err
	}
	outdated := map[lock.ID]bool{}
	for _, b := range list {
		outdated[b.ID] = true
	}
	for _, b := range st.lock.Bundles {
		x := Listed{
			ID:      b.ID.String(),
			Version: b.Version,
			Direct:  b.Require != "",
			State:   StateFolder,
			Signers: b.Signers,
			Caps:    b.Caps,
			Use:     b.Use,
			Replace: b.Replace.String(),
		}
		dir, err := e.installDir(b)
		if err == nil && installs(b) {
			x.State = stateOf(outdated[b.ID], exists(dir))
			rel, err := filepath.Rel(e.p.Base, dir)
			if err == nil {
				x.Path = filepath.ToSlash(rel)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

func stateOf(outdated, dirExists bool) string {
	switch {
	case !outdated:
		return StateInstalled
	case dirExists:
		return StateChanged
	}
	return StateMissing
}

// loadLocked is load for callers that need a lock. A missing lock is empty if
// nothing is required, else an error.
func (e *Engine) loadLocked() (*state, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if st.lock == nil {
		if err := st.checkCurrent(); err != nil {
			return nil, err
		}
		st.lock = &lock.Lock{}
	}
	return st, nil
}

// Tree returns the tree of requirements, from the lock alone.
func (e *Engine) Tree(context.Context) ([]why.Node, error) {
	st, err := e.loadLocked()
	if err != nil {
		return nil, err
	}
	return why.Tree(st.lock), nil
}

// Why returns the shortest chain of requirements that leads to a bundle, from
// the lock alone.
func (e *Engine) Why(_ context.Context, name string) (string, []why.Step, error) {
	st, err := e.loadLocked()
	if err != nil {
		return "", nil, err
	}
	id, err := st.lockedID(name)
	if err != nil {
		return "", nil, err
	}
	return id.String(), why.Path(st.lock, id.String()), nil
}

// lockedID returns the id of the bundle or member in the lock that a name means.
func (st *state) lockedID(name string) (lock.ID, error) {
	var ids []lock.ID
	for _, b := range st.lock.Bundles {
		ids = append(ids, b.ID)
	}
	for _, m := range st.lock.Members {
		if !m.ID.IsZero() {
			ids = append(ids, m.ID)
		}
	}
	return pick(strings.TrimSuffix(name, "/"), ids, "in "+lock.LockFile)
}

// Prune removes installed bundles that the lock does not name.
func (e *Engine) Prune(ctx context.Context, dryRun bool) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if st.theirs != nil {
		return nil, unmerged()
	}
	r := emptyResult()
	dirs, err := e.unlocked(st.lock)
	if err != nil {
		return r, err
	}
	if r.Removed = e.relative(dirs); dryRun {
		return r, nil
	}
	if len(dirs) == 0 {
		e.tidy(ctx)
		return r, nil
	}
	release, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return r, e.removeInstalled(dirs)
}
