package export

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock/treehash"
)

// Params is what the copies of a project are made of.
type Params struct {
	Base string // the directory that contains .ai
	Plan *Plan
	// Committed reports whether the copies are in git: then a missing one is a difference.
	Committed bool
	// before is called in front of every change, for tests.
	before func(step string) error
}

// state is the copies as they are on the disk.
type state struct {
	Params
	record record
	found  map[string]item.Digest // of the files in the directories of copies
	faults []diag.Finding         // links and other paths that are not files
}

// read reads the record and every file in the directory of a copy.
func (p Params) read() (*state, error) {
	d, err := openat.Open(p.Base)
	if err != nil {
		return nil, diag.Doing("exporting", err)
	}
	defer d.Close()
	s := &state{Params: p, found: map[string]item.Digest{}}
	if s.record, err = readRecord(d); err != nil {
		return nil, err
	}
	for _, c := range p.Plan.Copies {
		if c.isDir() {
			s.walk(d, path.Clean(c.Path))
			continue
		}
		s.file(d, c.Path)
	}
	// copies of dropped components are in no planned directory
	for p := range s.record {
		if _, seen := s.found[p]; !seen {
			s.file(d, p)
		}
	}
	diag.Sort(s.faults)
	s.faults = slices.CompactFunc(s.faults, func(a, b diag.Finding) bool {
		return a.Path == b.Path
	})
	return s, nil
}

// walk reads the files of a directory.
func (s *state) walk(d *openat.Dir, dir string) {
	err := d.Walk(dir, func(rel string, e openat.Entry) error {
		switch {
		case e.Err != nil:
			s.fault(diag.CodeOf(e.Err), rel, e.Err.Error())
			return nil
		case !e.IsDir():
			s.file(d, rel)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.fault(diag.CodeOf(err), dir, err.Error())
	}
}

func (s *state) file(d *openat.Dir, rel string) {
	b, _, err := d.Read(rel, treehash.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.fault(diag.CodeOf(err), rel, err.Error())
	default:
		s.found[rel] = item.DigestOf(b)
	}
}

func (s *state) fault(code diag.Code, rel, why string) {
	f := diag.Errorf(code, 0, 0, "%s", why)
	f.Path = rel
	s.faults = append(s.faults, f)
}

// Findings returns every difference between the reviewed components, the record and the
// copies: a file that was edited, added or deleted, and a component that has no copy.
func Findings(p Params) ([]diag.Finding, error) {
	s, err := p.read()
	if err != nil {
		return nil, err
	}
	var out []diag.Finding
	for _, c := range p.Plan.Copies {
		for _, d := range s.differences(c) {
			out = append(out, d.Finding)
		}
	}
	for _, at := range s.dropped() {
		out = append(out, finding(diag.Drift, at, "no reviewed component explains it: rye export removes it if it is unchanged"))
	}
	diag.Sort(out)
	return out, nil
}

// dropped returns the recorded paths that no copy has.
func (s *state) dropped() (out []string) {
	for _, at := range slices.Sorted(maps.Keys(s.record)) {
		if s.planned(at) == nil {
			out = append(out, at)
		}
	}
	return out
}

// planned returns the copy that a path belongs to, nil for none.
func (s *state) planned(p string) *Copy {
	i := slices.IndexFunc(s.Plan.Copies, func(c *Copy) bool {
		return c.has(p)
	})
	if i < 0 {
		return nil
	}
	return s.Plan.Copies[i]
}

// difference is one difference of a copy.
type difference struct {
	diag.Finding
	blocks bool // a person decides: no command overwrites the file
}

// pending is a difference that the next export removes.
func pending(at, why string) *difference {
	f := finding(diag.Drift, at, why)
	return &difference{Finding: f.WithReason("copy_pending")}
}

// blocking is a difference that a person decides about.
func blocking(code diag.Code, at, why string) *difference {
	f := finding(code, at, why)
	return &difference{Finding: f.WithReason("copy_edited"), blocks: true}
}

// differences returns how a copy differs from its component.
func (s *state) differences(c *Copy) (out []*difference) {
	for _, f := range s.faults {
		if c.touches(f.Path) {
			out = append(out, &difference{f, true})
		}
	}
	if len(out) > 0 {
		// the files behind a link are not the copy
		return out
	}
	if s.absent(c) {
		// copies that git ignores are written by rye sync
		if s.Committed {
			out = append(out, pending(c.Path, "the copy of "+c.Ref+" does not exist: rye export writes it"))
		}
		return out
	}
	for _, at := range slices.Sorted(maps.Keys(c.files)) {
		d := s.fileDifference(c, at)
		if d != nil {
			out = append(out, d)
		}
	}
	written := s.wroteAny(c)
	for _, at := range s.extra(c) {
		d := blocking(diag.Drift, at, "no reviewed file of "+c.Ref+" has this name")
		if !written {
			d = foreign(c, at)
		}
		out = append(out, d)
	}
	return out
}

// foreign is a file that another program or a person wrote.
func foreign(c *Copy, at string) *difference {
	return blocking(diag.Conflict, at, "a file that rye did not write is where the copy of "+c.Ref+" belongs")
}

// fileDifference returns how one file of a copy differs, nil if it is the reviewed one.
func (s *state) fileDifference(c *Copy, at string) *difference {
	want := c.files[at].Digest
	got, exists := s.found[at]
	recorded, known := s.record[at]
	right := exists && got == want
	switch {
	case right && recorded == want:
		return nil
	case right:
		// a command that was killed had written the file, and not yet the record
		return pending(at, RecordPath+" does not list it with its digest: rye export adds it")
	case !exists && known:
		return blocking(diag.Drift, at, "the file of "+c.Ref+" was deleted")
	case !exists:
		return pending(at, "it is a new file of "+c.Ref+": rye export writes it")
	case !known:
		return foreign(c, at)
	case got == recorded:
		return pending(at, "it is an earlier copy of "+c.Ref+": rye export writes the new one")
	}
	return blocking(diag.Drift, at, "it differs from the reviewed file of "+c.Ref)
}

// wroteAny reports whether the record has a file of a copy.
func (s *state) wroteAny(c *Copy) bool {
	for at := range s.record {
		if c.has(at) {
			return true
		}
	}
	return false
}

// extra returns the files in the directory of a copy that neither its component nor the
// record has.
func (s *state) extra(c *Copy) (out []string) {
	for _, at := range slices.Sorted(maps.Keys(s.found)) {
		// a file that rye wrote for an earlier version is not extra
		_, wanted := c.files[at]
		digest, recorded := s.record[at]
		earlier := recorded && digest == s.found[at]
		if c.has(at) && !wanted && !earlier {
			out = append(out, at)
		}
	}
	return out
}

// absent reports whether no file of a copy exists.
func (s *state) absent(c *Copy) bool {
	for at := range s.found {
		if c.has(at) {
			return false
		}
	}
	return true
}

// touches reports whether a path is the copy, below it or above it.
func (c *Copy) touches(p string) bool {
	return c.has(p) || strings.HasPrefix(c.Path, p+"/")
}

func finding(code diag.Code, at, why string) diag.Finding {
	f := diag.Errorf(code, 0, 0, "%s", why)
	f.Path = at
	return f
}
