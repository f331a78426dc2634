package lock

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Sum is the content of rye.sum: the hash of every version that was ever accepted.
type Sum struct {
	entries map[sumKey]sumValue
}

type sumKey struct {
	module Module
	scheme string
}

type sumValue struct {
	hash string
	line int
}

// SumLine is one line of rye.sum.
type SumLine struct {
	Module Module
	Hash   string // with its scheme: h1:…
}

// ParseSum reads rye.sum. The Sum is nil exactly when a finding is an error.
// Findings have no path. Repeated lines are valid, since a union merge produces
// them; two hashes for one version are a SUM_CONFLICT. An empty text is valid.
func ParseSum(b []byte) (*Sum, []diag.Finding) {
	s := &Sum{entries: map[sumKey]sumValue{}}
	if len(b) == 0 {
		return s, nil
	}
	if fs := precheck(b, MaxSum, "sum"); len(fs) > 0 {
		return nil, fs
	}
	if line := conflictLine(b); line > 0 {
		f := diag.Errorf(diag.ParsingError, line, 1, "the file contains conflict markers of a merge")
		return nil, []diag.Finding{f.WithReason("sum_conflict")}
	}
	var out []diag.Finding
	n := 0
	for line := range bytes.Lines(b) {
		n++
		if text := strings.TrimSuffix(string(line), "\n"); text != "" {
			out = append(out, s.line(text, n)...)
		}
		if len(out) >= maxFindings && diag.Failed(out) {
			break
		}
	}
	if diag.Failed(out) {
		return nil, out
	}
	return s, out
}

func (s *Sum) line(text string, n int) []diag.Finding {
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return []diag.Finding{diag.Errorf(diag.ParsingError, n, 1, `want "id version h1:…"`)}
	}
	id, err := ParseID(words[0])
	if err == nil && id.String() != words[0] {
		err = notReleased(words[0])
	}
	l := SumLine{Module{ID: id, Version: words[1]}, words[2]}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return []diag.Finding{diag.Errorf(diag.ParsingError, n, 1, "%s", err)}
	}
	scheme, _, _ := strings.Cut(l.Hash, ":")
	if scheme != "h1" {
		s.entries[l.key()] = sumValue{l.Hash, n}
		return []diag.Finding{diag.Warnf(diag.VersionMismatch, n, 1, "the hash %q is of a later format and is ignored", scheme)}
	}
	was, known := s.entries[l.key()]
	if known && was.hash != l.Hash {
		return []diag.Finding{diag.Errorf(
			diag.SumConflict,
			n,
			1,
			"a second hash for %s: %s, line %d has %s",
			l.Module,
			l.Hash,
			was.line,
			was.hash,
		)}
	} else if !known {
		s.entries[l.key()] = sumValue{l.Hash, n}
	}
	return nil
}

// String renders the line without its line feed.
func (l SumLine) String() string {
	return l.Module.ID.String() + " " + l.Module.Version + " " + l.Hash
}

func (l SumLine) key() sumKey {
	scheme, _, _ := strings.Cut(l.Hash, ":")
	return sumKey{l.Module, scheme}
}

func (l SumLine) check() error {
	id, err := ParseID(l.Module.ID.String()) // a caller can make any ID
	if err == nil {
		err = id.CheckVersion(l.Module.Version)
	}
	switch {
	case err != nil:
		return err
	case id.Kind == PathID || id != l.Module.ID:
		return notReleased(l.Module.ID.String())
	}
	scheme, text, _ := strings.Cut(l.Hash, ":")
	if len(scheme) != 2 ||
		scheme[0] != 'h' ||
		scheme[1] < '1' ||
		scheme[1] > '9' ||
		text == "" {
		return diag.New(diag.ParsingError, "reading hash %q: want h1: and the base64 of 32 bytes", clip(l.Hash))
	}
	if scheme == "h1" {
		return CheckSum(l.Hash)
	}
	return nil
}

func notReleased(id string) error {
	return diag.New(diag.ParsingError, "%q is not the canonical id of a released bundle", id)
}

// Hash returns the recorded hash of a version, or "".
func (s *Sum) Hash(m Module) string {
	return s.entries[sumKey{m, "h1"}].hash
}

// Check returns a SUM_CONFLICT if another hash is recorded for the version.
func (s *Sum) Check(m Module, hash string) error {
	was, known := s.entries[sumKey{m, "h1"}]
	if !known || was.hash == hash {
		return nil
	}
	return diag.New(diag.SumConflict, "checking %s: its files differ from those that rye.sum records", m).
		WithDetail("bundle", m.ID.String()).
		WithDetail("version", m.Version).
		WithDetail("expected", was.hash).
		WithDetail("found", hash).
		WithDetail("line", was.line)
}

// Len returns the number of hashes.
func (s *Sum) Len() int {
	return len(s.entries)
}

// AppendSum returns the text of rye.sum with the missing lines added at its end. A
// second hash for a version is a SUM_CONFLICT.
func AppendSum(b []byte, lines ...SumLine) ([]byte, error) {
	s, fs := ParseSum(b)
	if s == nil {
		return nil, diag.FromFindings("reading "+SumFile, diag.WithPath(fs, SumFile))
	}
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b SumLine) int {
		return cmp.Or(
			compareModules(a.Module, b.Module),
			cmp.Compare(a.Hash, b.Hash),
		)
	})
	out := slices.Clone(b)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, '\n')
	}
	for _, l := range lines {
		if err := l.check(); err != nil {
			return nil, err
		}
		if err := s.Check(l.Module, l.Hash); err != nil {
			return nil, err
		}
		if _, known := s.entries[l.key()]; known {
			continue
		}
		s.entries[l.key()] = sumValue{hash: l.Hash}
		out = append(out, l.String()+"\n"...)
	}
	return out, nil
}

// SumLines returns the lines that a lock adds to rye.sum.
func (l *Lock) SumLines() []SumLine {
	var out []SumLine
	for _, b := range l.Bundles {
		if b.Sum != "" {
			out = append(out, SumLine{b.Module(), b.Sum})
		}
	}
	return out
}
