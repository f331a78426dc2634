// Package stagedir replaces directories as one change: their new contents are
// written into a staging directory, put into position by renames, and taken back
// if a later step fails.
//
// It takes no lock, checks no contents and does not wait for the disk. Callers
// hold a lock while a Stage is open, and know what to write.
package stagedir

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/openat"
)

// Stage is a staging directory with the changes that Commit makes. Replace and
// Remove are not safe for concurrent use; writing into staged directories is.
type Stage struct {
	dir     string
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

// New creates a staging directory below parent, which must be on the file system
// of the directories that will be replaced. Its name begins with prefix.
func New(parent, prefix string) (*Stage, error) {
	dir := filepath.Join(parent, prefix+rand.Text())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Stage{dir: dir}, nil
}

// Sweep removes staging directories that processes left behind. The caller must
// hold the lock that all users of the prefix hold.
func Sweep(parent, prefix string) {
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			_ = os.RemoveAll(filepath.Join(parent, e.Name()))
		}
	}
}

// Replace plans final, which need not exist, and returns the staged directory
// that becomes it. The caller creates and fills that directory before Commit.
func (s *Stage) Replace(final string) (staged string) {
	name := strconv.Itoa(len(s.changes))
	staged = filepath.Join(s.dir, name)
	s.changes = append(s.changes, change{final: final, staged: staged, aside: staged + ".old"})
	return staged
}

// Remove plans that final, which must exist, is removed.
func (s *Stage) Remove(final string) {
	s.changes = append(s.changes, change{final: final, aside: filepath.Join(s.dir, strconv.Itoa(len(s.changes))+".old")})
}

// Commit makes every planned change, in order. If one fails it takes back those
// that were made and returns an error that names the directory.
func (s *Stage) Commit() error {
	for i := range s.changes {
		if err := s.changes[i].make(); err != nil {
			s.Undo()
			return &fs.PathError{Op: "replacing", Path: s.changes[i].final, Err: err}
		}
	}
	return nil
}

// Undo takes back what Commit did, the last change first. It is best effort: a
// directory that cannot be moved back stays in the staging directory until Close.
func (s *Stage) Undo() {
	for i := range slices.Backward(s.changes) {
		s.changes[i].undo()
	}
}

// Close removes the staging directory with everything that was replaced.
func (s *Stage) Close() { _ = os.RemoveAll(s.dir) }

func (c *change) make() error {
	_, err := os.Lstat(c.final)
	switch exists := err == nil; {
	case c.staged == "":
		if err := os.Rename(c.final, c.aside); err != nil {
			return err
		}
		c.state = removed
	case exists:
		if err := openat.Swap(c.staged, c.final, c.aside); err != nil {
			return err
		}
		c.state = swapped
	default:
		if err := c.makeParents(); err != nil {
			return err
		}
		if err := os.Rename(c.staged, c.final); err != nil {
			c.removeParents()
			return err
		}
		c.state = created
	}
	return nil
}

func (c *change) undo() {
	switch c.state {
	case removed:
		_ = os.Rename(c.aside, c.final)
	case swapped:
		_ = openat.Swap(c.aside, c.final, c.staged)
	case created:
		if os.Rename(c.final, c.staged) == nil {
			c.removeParents()
		}
	}
	c.state = planned
}

// makeParents creates the parents of final and records the new ones.
func (c *change) makeParents() error {
	c.made = nil
	for dir := filepath.Dir(c.final); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		c.made = append(c.made, dir)
	}
	return os.MkdirAll(filepath.Dir(c.final), 0o755)
}

// removeParents removes the parents that makeParents created. Those that another
// change uses by now are not empty and stay.
func (c *change) removeParents() {
	for _, dir := range c.made {
		if os.Remove(dir) != nil {
			return
		}
	}
}
