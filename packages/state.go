package packages

import (
	"bytes"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// state is what the files say when a call begins.
type state struct {
	manifestText, lockText, sumText []byte
	sumFile                         []byte // what stands there; sumText may lack a line that is to be replaced

	manifest *lock.Manifest
	members  []lock.MemberManifest
	lock     *lock.Lock     // nil when there is none
	theirs   *lock.Lock     // the other side of a merge that left its markers
	odd      []diag.Finding // warnings about the text of the lock
	sum      *lock.Sum
}

// load reads the files. An absent rye.yaml requires nothing.
func (e *Engine) load() (*state, error) {
	s, err := lock.ReadState(lock.Dir(e.p.Files))
	if err != nil {
		return nil, err
	}
	return &state{
		manifestText: s.ManifestText, lockText: s.LockText, sumText: s.SumText, sumFile: s.SumText,
		manifest: s.Manifest, members: s.Members, lock: s.Lock, theirs: s.Theirs, odd: s.Notes, sum: s.Sum,
	}, nil
}

// parseManifest reads the text of a project file; an empty one requires nothing.
func parseManifest(where string, b []byte) (*lock.Manifest, error) {
	if len(b) == 0 {
		return &lock.Manifest{}, nil
	}
	m, fs := lock.ParseManifest(b)
	if m == nil {
		return nil, diag.FromFindings("reading "+where, diag.WithPath(fs, where))
	}
	return m, nil
}

// pins returns what the lock, or both sides of a merge, knows of versions.
func (st *state) pins() (map[lock.Module]lock.Bundle, error) {
	var all []*lock.Lock
	for _, l := range []*lock.Lock{st.lock, st.theirs} {
		if l != nil {
			all = append(all, l)
		}
	}
	return lock.Pins(all...)
}

// previous returns what was locked of a bundle before, whatever its version.
func (st *state) previous(id string) *lock.Bundle {
	for _, l := range []*lock.Lock{st.lock, st.theirs} {
		if l == nil {
			continue
		}
		if b := l.Bundle(id); b != nil {
			return b
		}
	}
	return nil
}

// current returns nil when the lock is what the manifest asks for.
func (st *state) current() error {
	if st.lock == nil {
		if len(st.manifest.Require) == 0 && len(st.members) == 0 {
			return nil
		}
		return lock.Missing()
	}
	if st.theirs != nil {
		return diag.New(diag.LockStale, "reading %s: it holds the conflict markers of a merge", lock.LockFile).
			WithHint("rye lock resolves both sides again")
	}
	return st.lock.CheckStale(st.manifest, st.members...)
}

// rolledBack refuses a lock, or a side of one, that was written with revocations
// which are not there any more.
func (e *Engine) rolledBack(st *state) error {
	for _, l := range []*lock.Lock{st.lock, st.theirs} {
		if l == nil {
			continue
		}
		if err := l.CheckRevoked(e.p.Revoked); err != nil {
			return err
		}
	}
	return nil
}

// canonical reports whether the lock stands as rye writes it.
func (st *state) canonical() bool {
	return st.lock != nil && st.theirs == nil && bytes.Equal(st.lock.Render(), st.lockText)
}

// exists reports whether anything has that name.
func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}
