package packages

import (
	"os"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// state is the content of the project's files when a call begins.
type state struct {
	projectText, lockText, sumText []byte
	// sumFile is the text of rye.sum on the disk. AcceptMove removes a line from
	// sumText, which must not hide that the file changed.
	sumFile []byte

	project *lock.ProjectFile
	members []lock.MemberFile
	lock    *lock.Lock     // nil if there is none
	theirs  *lock.Lock     // the other side of an unresolved merge
	notes   []diag.Finding // warnings about the text of the lock
	sum     *lock.Sum
}

// load reads the files. An absent rye.yaml requires nothing.
func (e *Engine) load() (*state, error) {
	s, err := lock.ReadState(lock.Dir(e.p.Files), e.known())
	if err != nil {
		return nil, err
	}
	st := &state{
		projectText: s.ProjectText,
		lockText:    s.LockText,
		sumText:     s.SumText,
		sumFile:     s.SumText,
		project:     s.ProjectFile,
		members:     s.Members,
		lock:        s.Lock,
		theirs:      s.Theirs,
		notes:       s.Notes,
		sum:         s.Sum,
	}
	e.expectRegistries(st)
	return st, nil
}

// known returns the lock that the caller has read, or nil.
func (e *Engine) known() *lock.Known {
	if e.p.Known == nil {
		return nil
	}
	return e.p.Known()
}

// parseProject parses the text of a project file. An empty text requires nothing.
func parseProject(name string, b []byte) (*lock.ProjectFile, error) {
	if len(b) == 0 {
		return &lock.ProjectFile{}, nil
	}
	f, fs := lock.ParseProjectFile(b)
	if f == nil {
		return nil, diag.FromFindings("reading "+name, diag.WithPath(fs, name))
	}
	return f, nil
}

// locks returns the lock, or both sides of an unresolved merge.
func (st *state) locks() []*lock.Lock {
	var out []*lock.Lock
	for _, l := range []*lock.Lock{st.lock, st.theirs} {
		if l != nil {
			out = append(out, l)
		}
	}
	return out
}

// pins returns the lock entry of every locked version.
// A checkpoint in the lock changes only when it lacks the entry of a locked bundle, so that locks do not conflict in
// every merge.
func (st *state) pins() (map[lock.Module]lock.Bundle, error) {
	return lock.Pins(st.locks()...)
}

// previous returns the lock entry of a bundle, whatever its version, or nil.
func (st *state) previous(id lock.ID) *lock.Bundle {
	for _, l := range st.locks() {
		if b := l.Bundle(id); b != nil {
			return b
		}
	}
	return nil
}

// checkCurrent returns an error if the lock is missing, unmerged, or stale with
// respect to rye.yaml and the members.
func (st *state) checkCurrent() error {
	if st.lock == nil {
		if len(st.project.Require) == 0 && len(st.members) == 0 {
			return nil
		}
		return lock.Missing()
	}
	if st.theirs != nil {
		return unmerged()
	}
	return st.lock.CheckStale(st.project, st.members...)
}

func unmerged() error {
	return diag.New(diag.LockStale, "reading %s: it has the conflict markers of a merge", lock.LockFile)
}

// checkSigned refuses a lock with entries that name no manifest or no signer.
func (st *state) checkSigned() error {
	var errs []error
	for _, l := range st.locks() {
		errs = append(errs, l.CheckSigned())
	}
	return joinErrors("checking "+lock.LockFile, errs)
}

// checkRevocations refuses a lock that was written with revocations which the
// project has no longer.
func (e *Engine) checkRevocations(st *state) error {
	for _, l := range st.locks() {
		if err := l.CheckRevoked(e.p.Revoked); err != nil {
			return err
		}
	}
	return nil
}

// canonical reports whether the text of the lock is exactly as rye writes it.
func (st *state) canonical() bool {
	return st.lock != nil &&
		st.theirs == nil &&
		!slices.ContainsFunc(st.notes, lock.IsFormNote)
}

// exists reports whether a path exists. A dangling link exists.
func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}
