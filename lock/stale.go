package lock

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
)

// MemberFile is one member of the workspace with its manifest.
type MemberFile struct {
	Path     string // ./bundles/x
	Manifest *ProjectFile
}

// Key names the member in a selection: its bundle id, or the id of its path.
func (m MemberFile) Key() ID {
	return cmp.Or(m.Manifest.ID, ID{Kind: PathID, Repo: m.Path})
}

// Stale returns the differences between the manifest and the one that the lock was
// computed from, as LOCK_STALE findings with positions in rye.yaml. Without findings
// the lock is up to date. It needs no network: each entry records its requirement,
// and the head a hash of the other values.
func (l *Lock) Stale(m *ProjectFile, members ...MemberFile) []diag.Finding {
	s := staleness{l: l, m: m.effective()}
	for _, id := range unionOfIDs(s.m.Require, s.required()) {
		s.require(id)
	}
	for _, id := range unionOfIDs(s.m.Use, s.used()) {
		s.use(id)
	}
	if m.Settings() != l.Manifest {
		s.add(diag.Position{Line: 1}, "name, prefer, replace, exclude, workspace, trust or policy changed since the lock was written")
	}
	s.members(members)
	for _, b := range l.Bundles {
		if why := l.Underived(m, b); why != "" {
			s.add(m.Position("require", b.ID.String()), "%s", why)
		}
	}
	return diag.WithPath(s.out, ProjectFileName)
}

// CheckStale returns the findings of Stale as one error.
func (l *Lock) CheckStale(m *ProjectFile, members ...MemberFile) error {
	return diag.FromFindings("checking "+LockFile, l.Stale(m, members...))
}

type staleness struct {
	l   *Lock
	m   *ProjectFile
	out []diag.Finding
}

func (s *staleness) add(at diag.Position, format string, args ...any) {
	s.out = append(s.out, diag.Errorf(
		diag.LockStale,
		at.Line,
		at.Column,
		format,
		args...,
	))
}

func (s *staleness) require(id ID) {
	want, required := s.m.Require[id]
	entry := s.entry(id)
	at := s.m.Position("require", id.String())
	switch {
	case !required:
		s.add(diag.Position{}, "%s is locked as a requirement and is no longer required", id)
	case entry == nil && !s.isMember(id):
		s.add(at, "%s %s is required and not locked", id, want)
	case entry != nil && entry.Require == "":
		s.add(at, "%s %s is required, the lock has it only as a requirement of others", id, want)
	case entry != nil && entry.Require != want:
		s.add(at, "%s %s is required, the lock was computed for %s", id, want, entry.Require)
	}
}

// entry returns the entry of a bundle, or the fields of an adopted source that are compared,
// or nil.
func (s *staleness) entry(id ID) *Bundle {
	if a := s.l.AdoptedSource(id); a != nil {
		return &Bundle{ID: id, Require: a.Require, Use: a.Use}
	}
	return s.l.Bundle(id)
}

func (s *staleness) use(id ID) {
	want := sortedTexts(s.m.Use[id])
	entry := s.entry(id)
	at := s.m.Position("use", id.String())
	switch {
	case entry == nil:
		s.add(at, "use names items of %s, which is not locked", id)
	case !slices.Equal(want, sortedTexts(entry.Use)):
		s.add(at, "use of %s changed since the lock was written", id)
	}
}

func (s *staleness) members(members []MemberFile) {
	have := map[string]string{}
	for _, m := range members {
		have[m.Path] = m.Manifest.Hash()
	}
	locked := map[string]string{}
	for _, m := range s.l.Members {
		locked[m.Path] = m.Manifest
	}
	for _, path := range union(have, locked) {
		at := s.m.Position("workspace", "")
		switch now, was := have[path], locked[path]; {
		case was == "":
			s.add(at, "%s is a member of the workspace and not in the lock", path)
		case now == "":
			s.add(at, "%s is in the lock and is not a member of the workspace", path)
		case now != was:
			s.add(at, "the manifest of %s changed since the lock was written", path)
		}
	}
}

func (s *staleness) isMember(id ID) bool {
	return slices.ContainsFunc(s.l.Members, func(m Member) bool {
		return m.ID == id
	})
}

func (s *staleness) required() map[ID]bool {
	out := map[ID]bool{}
	for _, b := range s.l.Bundles {
		if b.Require != "" {
			out[b.ID] = true
		}
	}
	for _, a := range s.l.Adopted {
		out[a.ID] = true
	}
	return out
}

func (s *staleness) used() map[ID]bool {
	out := map[ID]bool{}
	for _, b := range s.l.Bundles {
		if len(b.Use) > 0 {
			out[b.ID] = true
		}
	}
	for _, a := range s.l.Adopted {
		if len(a.Use) > 0 {
			out[a.ID] = true
		}
	}
	return out
}

func unionOfIDs[A, B any](a map[ID]A, b map[ID]B) []ID {
	out := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.SortFunc(out, ID.Compare)
	return slices.Compact(out)
}

func union[A, B any](a map[string]A, b map[string]B) []string {
	out := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedTexts(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
