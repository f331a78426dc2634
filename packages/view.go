package packages

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Listed is one bundle of a lock and how it stands in the space.
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
	StateChanged   = "changed" // what is installed is not what is locked
	StateFolder    = "folder"  // of this machine
)

// List returns the locked bundles. It asks nobody and changes nothing.
func (e *Engine) List(ctx context.Context) ([]Listed, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	out := []Listed{}
	if st.lock == nil {
		return out, nil
	}
	bad, err := e.lacking(ctx, st.lock)
	if err != nil {
		return nil, err
	}
	broken := map[string]bool{}
	for _, b := range bad {
		broken[b.ID] = true
	}
	for _, b := range st.lock.Bundles {
		x := Listed{ID: b.ID, Version: b.Version, Direct: b.Require != "", State: StateFolder, Signers: b.Signers, Caps: b.Caps, Use: b.Use, Replace: b.Replace}
		if dir, err := e.place(b); err == nil && installs(b) {
			x.State = stateOf(broken[b.ID], exists(dir))
			if rel, err := filepath.Rel(e.p.Base, dir); err == nil {
				x.Path = filepath.ToSlash(rel)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

func stateOf(broken, there bool) string {
	switch {
	case !broken:
		return StateInstalled
	case there:
		return StateChanged
	}
	return StateMissing
}

// read returns the lock, which must exist when the manifest asks for anything.
func (e *Engine) read() (*state, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if st.lock == nil {
		if err := st.current(); err != nil {
			return nil, err
		}
		st.lock = &lock.Lock{}
	}
	return st, nil
}

// Tree returns what requires what, from the lock alone.
func (e *Engine) Tree(context.Context) ([]lock.Node, error) {
	st, err := e.read()
	if err != nil {
		return nil, err
	}
	return st.lock.Tree(), nil
}

// Why returns the shortest chain of requirements that leads to a bundle, from
// the lock alone.
func (e *Engine) Why(_ context.Context, word string) (string, []lock.Step, error) {
	st, err := e.read()
	if err != nil {
		return "", nil, err
	}
	id, err := st.lockedID(word)
	if err != nil {
		return "", nil, err
	}
	return id, st.lock.Why(id), nil
}

// lockedID returns the id that a word names among what is locked.
func (st *state) lockedID(word string) (string, error) {
	var ids []string
	for _, b := range st.lock.Bundles {
		ids = append(ids, b.ID)
	}
	for _, m := range st.lock.Members {
		ids = append(ids, m.ID)
	}
	return pick(strings.TrimSuffix(word, "/"), ids, "in "+lock.LockFile)
}

// Prune removes installed bundles that the lock does not name.
func (e *Engine) Prune(ctx context.Context, dry bool) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if st.theirs != nil {
		return nil, diag.New(diag.LockStale, "reading %s: it holds the conflict markers of a merge", lock.LockFile).WithHint("rye lock")
	}
	r := emptyResult()
	dirs, err := e.extra(st.lock)
	if err != nil || len(dirs) == 0 {
		return r, err
	}
	if r.Removed = e.shown(dirs); dry {
		return r, nil
	}
	release, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return r, e.removeInstalled(dirs)
}
