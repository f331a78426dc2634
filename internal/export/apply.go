package export

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/item"
)

// Result is what a command did.
type Result struct {
	Wrote   []string       `json:"wrote"`   // paths of copies
	Removed []string       `json:"removed"` // files of dropped components
	Kept    []diag.Finding `json:"kept"`    // what a person decides about
}

// Apply writes the copies that are missing or old and removes unchanged copies of dropped
// components. It changes no file that differs from the record: these are in Kept. A call
// completes what a killed one began. The caller holds the lock of the project.
func Apply(p Params) (*Result, error) {
	s, err := p.read()
	if err != nil {
		return nil, err
	}
	out := &Result{Wrote: []string{}, Removed: []string{}}
	now := record{}
	for _, c := range p.Plan.Copies {
		blocked, err := s.apply(c, out)
		if err != nil {
			return nil, err
		}
		if blocked {
			// without its lines the files of rye would be taken for the person's own
			s.keepLines(now, c)
			continue
		}
		for at, file := range c.files {
			now[at] = file.Digest
		}
	}
	if err := s.removeDropped(now, out); err != nil {
		return nil, err
	}
	diag.Sort(out.Kept)
	return out, s.writeRecord(now)
}

// apply writes one copy. blocked is true if a person must decide about one of its files.
func (s *state) apply(c *Copy, out *Result) (blocked bool, err error) {
	changed := s.absent(c)
	for _, d := range s.differences(c) {
		if d.blocks {
			blocked = true
			out.Kept = append(out.Kept, d.Finding)
		}
		_, recorded := s.found[d.Path]
		changed = changed ||
			!recorded ||
			s.found[d.Path] != c.files[d.Path].Digest
	}
	changed = changed || s.leftover(c)
	if blocked || !changed {
		return blocked, nil
	}
	out.Wrote = append(out.Wrote, c.Path)
	return false, s.write(c)
}

// leftover reports whether the directory of a copy has an unchanged file that its
// component does not have any more.
func (s *state) leftover(c *Copy) bool {
	for at := range s.found {
		_, wanted := c.files[at]
		if c.has(at) && !wanted {
			return true
		}
	}
	return false
}

// keepLines keeps the lines of a copy in the record.
func (s *state) keepLines(now record, c *Copy) {
	for at, digest := range s.record {
		if c.has(at) {
			now[at] = digest
		}
	}
}

func (s *state) step(name string) error {
	if s.before == nil {
		return nil
	}
	return s.before(name)
}

// write replaces one copy as a whole: a reader sees the old or the new one.
func (s *state) write(c *Copy) error {
	base := atomicfile.Project(s.Base)
	if !c.isDir() {
		if err := s.step("file " + c.Path); err != nil {
			return err
		}
		file := c.files[c.Path]
		b, err := file.bytes(c.Path)
		if err != nil {
			return err
		}
		return base.Replace(c.Path, b, file.mode())
	}
	stage, err := stagedir.New(base)
	if err != nil {
		return diag.Doing("exporting "+c.Ref, err)
	}
	defer stage.Close()
	// every file is written before the rename: a process that is killed changes nothing
	final := path.Clean(c.Path)
	staged := stage.Replace(final)
	err = stage.MkdirAll(staged)
	for _, at := range slices.Sorted(maps.Keys(c.files)) {
		if err != nil {
			break
		}
		err = s.stageFile(stage, staged, c, at)
	}
	if err == nil {
		err = s.step("directory " + final)
	}
	if err == nil {
		err = stage.Commit()
	}
	if err != nil {
		return diag.Doing("exporting "+c.Ref, err)
	}
	return s.step("after " + final)
}

func (s *state) stageFile(stage *stagedir.Stage, staged string, c *Copy, at string) error {
	file := c.files[at]
	b, err := file.bytes(at)
	if err != nil {
		return err
	}
	return stage.WriteFile(staged, strings.TrimPrefix(at, c.Path), b, file.mode())
}

// bytes returns the bytes of a file, which must still be the reviewed ones.
func (f File) bytes(at string) ([]byte, error) {
	b, err := f.Read()
	if err != nil {
		return nil, err
	}
	if item.DigestOf(b) != f.Digest {
		return nil, diag.New(diag.HashMismatch, "exporting %s: the installed file is not the reviewed one", at)
	}
	return b, nil
}

func (f File) mode() fs.FileMode {
	if f.Executable {
		return 0o755
	}
	return 0o644
}

// removeDropped removes unchanged copies of components that are not used any more.
func (s *state) removeDropped(now record, out *Result) error {
	base := atomicfile.Project(s.Base)
	for _, at := range s.dropped() {
		i := slices.IndexFunc(s.faults, func(f diag.Finding) bool {
			return f.Path == at
		})
		recorded := s.record[at]
		digest, exists := s.found[at]
		edited := exists && digest != recorded
		switch {
		case i >= 0:
			// a link in place of the copy: what is behind it is not removed
			out.Kept = append(out.Kept, s.faults[i])
			now[at] = recorded
		case edited:
			out.Kept = append(out.Kept, finding(diag.Drift, at, "its component is not used any more, and the copy was edited"))
			now[at] = recorded
		case exists:
			if err := s.step("remove " + at); err != nil {
				return err
			}
			if err := base.Remove(at); err != nil {
				return diag.Doing("removing "+at, err)
			}
			out.Removed = append(out.Removed, at)
			removeEmpty(base, path.Dir(at))
		}
	}
	return nil
}

// removeEmpty removes a directory and the ones above it that are empty.
func removeEmpty(base atomicfile.Base, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		// a directory with files is not removed, and neither is the one above it
		if base.Remove(dir) != nil {
			return
		}
	}
}

// writeRecord writes the record if it changed.
func (s *state) writeRecord(now record) error {
	if maps.Equal(now, s.record) {
		return nil
	}
	if err := s.step("record"); err != nil {
		return err
	}
	base := atomicfile.Project(s.Base)
	if len(now) == 0 {
		// a project without copies has no record
		err := base.Remove(RecordPath)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diag.Doing("removing the record of copies", err)
		}
		return nil
	}
	return base.Replace(RecordPath, now.render(), 0o644)
}

// Restore replaces the copy that has a path by the reviewed files, whatever it has now.
func Restore(p Params, at string) (*Result, error) {
	s, err := p.read()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Plan.Copies, func(c *Copy) bool {
		return c.has(at) || path.Clean(c.Path) == path.Clean(at)
	})
	if i < 0 {
		return nil, diag.New(diag.ItemNotFound, "restoring %s: it is not a copy of a reviewed component", at)
	}
	c := p.Plan.Copies[i]
	for _, f := range s.faults {
		if c.touches(f.Path) {
			return nil, diag.FromFindings("restoring "+at, []diag.Finding{f})
		}
	}
	if err := s.write(c); err != nil {
		return nil, err
	}
	// the other copies stay as they are
	now := maps.Clone(s.record)
	maps.DeleteFunc(now, func(old string, _ item.Digest) bool {
		return c.has(old)
	})
	for name, file := range c.files {
		now[name] = file.Digest
	}
	return &Result{Wrote: []string{c.Path}, Removed: []string{}}, s.writeRecord(now)
}
