// Package stagedir replaces directories as one change: their new contents are
// written into a staging directory, put into position by renames, and taken back
// if a later step fails.
//
// It takes no lock, checks no contents and does not wait for the disk. Callers
// hold a lock while a Stage is open, and know what to write. The staging directory
// of a killed process is removed by the next write below the same base.
package stagedir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
)

// Stage is a staging directory with the changes that Commit makes. Replace and
// Remove are not safe for concurrent use; WriteFile is.
type Stage struct {
	base    atomicfile.Base
	scratch *atomicfile.Scratch
	changes []change
}

type change struct {
	final  string
	staged string // the new directory; "" if final is removed
	aside  string // the old directory, once the change is made
	state  state
	made   []string // parents of final that Commit created, the deepest first
}

type state int

const (
	planned state = iota
	created       // final is new
	swapped       // final was replaced, the old one is at aside
	removed       // final is at aside
)

// New creates a staging directory for directories below base. All paths are
// relative to it.
func New(base atomicfile.Base) (*Stage, error) {
	scratch, err := base.Scratch()
	if err != nil {
		return nil, err
	}
	return &Stage{base: base, scratch: scratch}, nil
}

// SweepOld removes staging directories of earlier versions from the directory at
// dir: their names begin with prefix. The caller must hold the lock that all users
// of the prefix hold.
func SweepOld(base atomicfile.Base, dir, prefix string) {
	des, _ := os.ReadDir(base.Path(dir))
	for _, de := range des {
		if strings.HasPrefix(de.Name(), prefix) && de.IsDir() {
			_ = base.RemoveAll(path.Join(dir, de.Name()))
		}
	}
}

// Replace plans final, which need not exist, and returns the name of the staged
// directory that becomes it. The caller creates and fills that directory before
// Commit.
func (s *Stage) Replace(final string) (staged string) {
	staged = strconv.Itoa(len(s.changes))
	s.changes = append(s.changes, change{final: final, staged: staged, aside: staged + ".old"})
	return staged
}

// Remove plans that final, which must exist, is removed.
func (s *Stage) Remove(final string) {
	s.changes = append(s.changes, change{final: final, aside: strconv.Itoa(len(s.changes)) + ".old"})
}

// MkdirAll creates a staged directory.
func (s *Stage) MkdirAll(staged string) error {
	f, err := s.scratch.Sub(staged, 0o755)
	if err != nil {
		return err
	}
	return f.Close()
}

// WriteFile creates a file, with these permission bits, below a staged directory.
// It is an error if it exists.
func (s *Stage) WriteFile(staged, rel string, data []byte, perm fs.FileMode) error {
	rel = path.Join(staged, rel)
	dir, err := s.scratch.Sub(path.Dir(rel), 0o755)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.OpenFile(
		path.Base(rel),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL,
		0o644,
	)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && perm != 0o644 {
		err = f.Chmod(perm)
	}
	return errors.Join(err, f.Close())
}

// Commit makes every planned change, in order. If one fails it takes back those
// that were made and returns an error that names the directory.
func (s *Stage) Commit() error {
	for i := range s.changes {
		if err := s.make(&s.changes[i]); err != nil {
			s.Undo()
			if diag.CodeOf(err) != "" { // it names the path
				return err
			}
			return diag.Doing("replacing "+s.base.Path(s.changes[i].final), err)
		}
	}
	return nil
}

// Undo takes back what Commit did, the last change first. It is best effort: a
// directory that cannot be moved back stays in the staging directory until Close.
func (s *Stage) Undo() {
	for i := range slices.Backward(s.changes) {
		s.undo(&s.changes[i])
	}
}

// Close removes the staging directory with everything that was replaced.
func (s *Stage) Close() {
	s.scratch.Close()
}

func (s *Stage) make(c *change) error {
	name := path.Base(c.final)
	_, err := s.base.Stat(c.final)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	exists := err == nil
	if !exists && c.staged != "" {
		c.made = s.missing(path.Dir(c.final))
	}
	parent, err := s.base.Open(path.Dir(c.final))
	if err != nil {
		return err
	}
	defer parent.Close()
	switch {
	case c.staged == "":
		err = parent.Rename(name, s.scratch.Folder, c.aside)
		c.state = removed
	case exists:
		err = s.swap(c.staged, parent, name, c.aside)
		c.state = swapped
	default:
		err = s.scratch.Rename(c.staged, parent, name)
		c.state = created
	}
	if err != nil {
		c.state = planned
		s.removeParents(c)
	}
	return err
}

// swap gives the directory from the name of an existing directory, which becomes aside.
// If the file system supports it, the name exists at every moment.
func (s *Stage) swap(from string, parent *openat.Folder, name, aside string) error {
	if s.scratch.Exchange(from, parent, name) == nil {
		err := s.scratch.Rename(from, s.scratch.Folder, aside)
		if err != nil {
			err = errors.Join(err, s.scratch.Exchange(from, parent, name))
		}
		return err
	}
	err := parent.Rename(name, s.scratch.Folder, aside)
	if err != nil {
		return err
	}
	if err := s.scratch.Rename(from, parent, name); err != nil {
		return errors.Join(err, s.scratch.Rename(aside, parent, name))
	}
	return nil
}

func (s *Stage) undo(c *change) {
	was := c.state
	if c.state = planned; was == planned {
		return
	}
	parent, err := s.base.Open(path.Dir(c.final))
	if err != nil {
		return
	}
	defer parent.Close()
	name := path.Base(c.final)
	switch was {
	case removed:
		_ = s.scratch.Rename(c.aside, parent, name)
	case swapped:
		_ = s.swap(c.aside, parent, name, c.staged)
	case created:
		if parent.Rename(name, s.scratch.Folder, c.staged) == nil {
			s.removeParents(c)
		}
	}
}

// missing returns dir and the directories above it that do not exist.
func (s *Stage) missing(dir string) []string {
	var out []string
	for ; dir != "."; dir = path.Dir(dir) {
		_, err := s.base.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		out = append(out, dir)
	}
	return out
}

// removeParents removes the parents that make created. Those that another change
// uses by now are not empty and stay.
func (s *Stage) removeParents(c *change) {
	for _, dir := range c.made {
		if s.base.Remove(dir) != nil {
			return
		}
	}
}
