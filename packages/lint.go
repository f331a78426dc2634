package packages

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/source"
)

// lint refuses a bundle that holds what no reader sees: characters, bytecode,
// archives that run. What is only odd comes back.
func lint(ctx context.Context, snap *source.Snapshot, m lock.Module) (odd []diag.Finding, err error) {
	has := func(path string) bool {
		_, ok := snap.File(path)
		return ok
	}
	var bad []diag.Finding
	err = snap.Each(ctx, func(f source.File, b []byte) error {
		for _, x := range hidden.Blobs(hidden.Blob{Path: f.Path, Bytes: b, Executable: f.Executable}, has) {
			if x.Severity == diag.SeverityError {
				bad = append(bad, x)
			} else {
				odd = append(odd, x)
			}
		}
		return nil
	})
	if err != nil || len(bad) == 0 {
		return odd, err
	}
	diag.Sort(bad)
	var e *diag.Error
	errors.As(diag.FromFindings("looking into "+m.String(), bad), &e)
	return nil, e.WithDetail("bundle", m.ID).WithDetail("version", m.Version).
		WithHint("do not use it before its author told you what that is for; nothing was installed")
}

// alike compares an id with those that are required: one that a hurried reader
// takes for another refuses, one that is a slip away is odd. An id that a person
// wrote into rye.yaml is meant.
func alike(id string, required map[string]string, meant bool) (odd []diag.Finding, err error) {
	x, err := lock.ParseID(id)
	if err != nil {
		return nil, err
	}
	for _, other := range slices.Sorted(maps.Keys(required)) {
		y, err := lock.ParseID(other)
		if err != nil || other == id {
			continue
		}
		likeness := lock.Alike(x, y)
		switch {
		case likeness == lock.Lookalike && !meant:
			return nil, diag.New(diag.PolicyDenied, "resolving %s: it looks like %s, which is required", id, other).
				WithDetail("bundle", id).WithDetail("looks_like", other).
				WithHint("look at both letter by letter, and ask who wants it (rye why %s); if both are meant, write it into require of %s by hand, then rye lock", id, lock.ManifestFile)
		case likeness == lock.Lookalike, likeness == lock.Close && !meant:
			odd = append(odd, diag.Warnf(diag.HiddenChars, 0, 0, "its id looks like %s, which is required: see that it is the one you mean", other))
		}
	}
	return odd, nil
}

// alike holds every bundle of a solution against what is required.
func (s *solver) alike(l *lock.Lock) error {
	var errs []error
	asked := required(l)
	for _, b := range l.Bundles {
		odd, err := alike(b.ID, asked, meant(s.st.manifest, b.ID))
		if err != nil {
			errs = append(errs, err)
		}
		s.note(b.Module(), odd)
	}
	return together("comparing ids", append(errs, twice(l)...))
}

// meant reports whether a person wrote an id into rye.yaml, as required or as
// what replaces another.
func meant(m *lock.Manifest, id string) bool {
	if m.Require[id] != "" {
		return true
	}
	for _, r := range m.Replace {
		if r.ID == id {
			return true
		}
	}
	return false
}

// twice refuses two addresses of one bundle: their versions would be chosen apart
// from each other.
func twice(l *lock.Lock) []error {
	var errs []error
	for i, b := range l.Bundles {
		for _, o := range l.Bundles[:i] {
			x, err := lock.ParseID(b.ID)
			y, err2 := lock.ParseID(o.ID)
			if err != nil || err2 != nil || !lock.OneRepository(x, y) {
				continue
			}
			errs = append(errs, diag.New(diag.Unresolvable, "resolving %s: %s is the same bundle under another address", b.ID, o.ID).
				WithHint("rye why %s shows who requires it so; require one address everywhere", b.ID))
		}
	}
	return errs
}

// required returns what a lock says that the manifest required.
func required(l *lock.Lock) map[string]string {
	out := map[string]string{}
	for _, b := range l.Bundles {
		if b.Require != "" {
			out[b.ID] = b.Require
		}
	}
	return out
}
