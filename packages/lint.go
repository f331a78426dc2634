package packages

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
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
func alike(x lock.Look, required []lock.Look, meant bool) (odd []diag.Finding, err error) {
	for _, y := range required {
		switch likeness := x.Alike(y); {
		case likeness == lock.Lookalike && !meant:
			return nil, diag.New(diag.PolicyDenied, "resolving %s: it looks like %s, which is required", x.ID, y.ID).
				WithDetail("bundle", x.ID.String()).WithDetail("looks_like", y.ID.String()).
				WithHint("look at both letter by letter, and ask who wants it (rye why %s); if both are meant, write it into require of %s by hand, then rye lock", x.ID, lock.ManifestFile)
		case likeness == lock.Lookalike, likeness == lock.Close && !meant:
			odd = append(odd, diag.Warnf(diag.HiddenChars, 0, 0, "its id looks like %s, which is required: see that it is the one you mean", y.ID))
		}
	}
	return odd, nil
}

// alike holds every bundle of a solution against what is required, and against
// each other.
func (s *solver) alike(l *lock.Lock) error {
	var errs []error
	looks, asked := l.Looks(), required(l)
	for i, b := range l.Bundles {
		odd, err := alike(looks[i], asked, meant(s.st.manifest, b.ID))
		if err == nil {
			err = twice(looks[i], looks[:i])
		}
		if err != nil {
			errs = append(errs, err)
		}
		s.note(b.Module(), odd)
	}
	return together("comparing ids", errs)
}

// strange holds bundles that a lock brings, and that rye.yaml does not require,
// against those that it does.
func strange(l *lock.Lock, bundles []lock.Bundle) error {
	if l == nil {
		return nil
	}
	var errs []error
	asked := required(l)
	for _, b := range bundles {
		id, err := lock.ParseID(b.ID)
		if err == nil {
			_, err = alike(lock.LookOf(id), asked, b.Require != "")
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return together("comparing ids", errs)
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
func twice(x lock.Look, others []lock.Look) error {
	for _, y := range others {
		if x.Same(y) {
			return diag.New(diag.Unresolvable, "resolving %s: %s is the same bundle under another address", x.ID, y.ID).
				WithHint("rye why %s shows who requires it so; require one address everywhere, or let replace in %s put one for the other", x.ID, lock.ManifestFile)
		}
	}
	return nil
}

// required returns what a lock says that the manifest required.
func required(l *lock.Lock) []lock.Look {
	var out []lock.Look
	for i, look := range l.Looks() {
		if l.Bundles[i].Require != "" {
			out = append(out, look)
		}
	}
	return out
}
