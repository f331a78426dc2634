package packages

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
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

// load reads the files. An absent rye.yaml asks for nothing.
func (e *Engine) load() (*state, error) {
	st := &state{}
	var err error
	for _, f := range []struct {
		name string
		max  int64
		to   *[]byte
	}{{lock.ManifestFile, lock.MaxManifest, &st.manifestText}, {lock.LockFile, lock.MaxLock, &st.lockText}, {lock.SumFile, lock.MaxSum, &st.sumText}} {
		if *f.to, err = readFile(e.p.Files, f.name, f.max); err != nil {
			return nil, err
		}
	}
	st.sumFile = st.sumText
	if st.manifest, err = parseManifest(lock.ManifestFile, st.manifestText); err != nil {
		return nil, err
	}
	if err := st.readLock(); err != nil {
		return nil, err
	}
	var fs []diag.Finding
	if st.sum, fs = lock.ParseSum(st.sumText); st.sum == nil {
		return nil, diag.FromFindings("reading "+lock.SumFile, diag.WithPath(fs, lock.SumFile))
	}
	st.members, err = e.members(st.manifest)
	return st, err
}

func readFile(dir, name string, limit int64) ([]byte, error) {
	b, _, err := openat.Read(dir, name, limit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && diag.CodeOf(err) == "":
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", name, err)
	}
	return b, err
}

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

func (st *state) readLock() error {
	if len(st.lockText) == 0 {
		return nil
	}
	var fs []diag.Finding
	if lock.Conflicted(st.lockText) {
		st.lock, st.theirs, fs = lock.ParseLockConflict(st.lockText)
	} else {
		st.lock, fs = lock.ParseLock(st.lockText)
	}
	if st.lock == nil {
		return diag.FromFindings("reading "+lock.LockFile, diag.WithPath(fs, lock.LockFile))
	}
	st.odd = diag.WithPath(fs, lock.LockFile)
	return nil
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

// members reads the manifests of the workspace's folders.
func (e *Engine) members(m *lock.Manifest) ([]lock.MemberManifest, error) {
	var out []lock.MemberManifest
	for _, pattern := range m.Workspace {
		found, err := filepath.Glob(filepath.Join(e.p.Files, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, diag.New(diag.ValidationFailed, "reading the workspace pattern %q: %w", pattern, err)
		}
		for _, dir := range found {
			rel, err := filepath.Rel(e.p.Files, dir)
			if err != nil || strings.HasPrefix(rel, "..") {
				return nil, diag.New(diag.PathEscape, "reading the workspace: %q leaves the project", pattern)
			}
			name := "./" + filepath.ToSlash(rel)
			b, err := readFile(e.p.Files, path.Join(filepath.ToSlash(rel), lock.ManifestFile), lock.MaxManifest)
			if err != nil {
				return nil, err
			}
			if b == nil {
				continue // a folder without a manifest asks for nothing
			}
			mm, err := parseManifest(name+"/"+lock.ManifestFile, b)
			if err != nil {
				return nil, err
			}
			out = append(out, lock.MemberManifest{Path: name, Manifest: mm})
		}
	}
	slices.SortFunc(out, func(a, b lock.MemberManifest) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b lock.MemberManifest) bool { return a.Path == b.Path }), nil
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
