package packages

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// lint refuses a bundle with content that a reader cannot see: hidden characters,
// bytecode, executable archives. It returns the warnings of an accepted one.
func lint(
	ctx context.Context,
	snap *source.Snapshot,
	m lock.Module,
) (warnings []diag.Finding, err error) {
	has := func(path string) bool {
		_, ok := snap.File(path)
		return ok
	}
	var refused []diag.Finding
	err = snap.Each(ctx, func(f source.File, b []byte) error {
		for _, x := range hidden.Blobs(hidden.Blob{Path: f.Path, Bytes: b, Executable: f.Executable}, has) {
			if x.Severity == diag.SeverityError {
				refused = append(refused, x)
			} else {
				warnings = append(warnings, x)
			}
		}
		return nil
	})
	if err != nil || len(refused) == 0 {
		return warnings, err
	}
	diag.Sort(refused)
	var e *diag.Error
	errors.As(diag.FromFindings("checking the files of "+m.String(), refused), &e)
	return nil, e.
		WithReason("bundle").
		WithDetail("bundle", m.ID.String()).
		WithDetail("version", m.Version)
}

// compareID compares an id with the required ones. An id that looks the same as
// one of them is an error, one that differs by a typing error a warning. An id in
// rye.yaml was written by a user and is accepted with a warning at most.
func compareID(
	x lock.Look,
	required []lock.Look,
	inProject bool,
) (warnings []diag.Finding, err error) {
	for _, y := range required {
		switch likeness := x.Alike(y); {
		case likeness == lock.Lookalike && !inProject:
			return nil, diag.New(diag.PolicyDenied, "resolving %s: it looks like %s, which is required", x.ID, y.ID).
				WithReason("lookalike").
				WithDetail("bundle", x.ID.String()).
				WithDetail("looks_like", y.ID.String())
		case likeness == lock.Lookalike, likeness == lock.Close && !inProject:
			warnings = append(warnings, diag.Warnf(diag.HiddenChars, 0, 0, "its id looks like %s, which is required", y.ID))
		}
	}
	return warnings, nil
}

// compareIDs compares the id of every bundle of a draft with the required ones
// and with those before it.
func (s *solver) compareIDs(l *lock.Lock) error {
	looks := l.Looks()
	required := requiredLooks(l)
	errs := make([]error, len(looks))
	for i, b := range l.Bundles {
		warnings, err := compareID(looks[i], required, inProject(s.st.project, b.ID))
		if err == nil {
			err = checkAddress(looks[i], looks[:i])
		}
		errs[i] = err
		s.note(b.Module(), warnings)
	}
	return joinErrors("comparing ids", errs)
}

// checkLookalikes refuses bundles of a lock that rye.yaml does not require and
// that look like required ones.
func checkLookalikes(l *lock.Lock, bundles []lock.Bundle) error {
	if l == nil {
		return nil
	}
	required := requiredLooks(l)
	errs := make([]error, len(bundles))
	for i, b := range bundles {
		_, errs[i] = compareID(lock.LookOf(b.ID), required, b.Require != "")
	}
	return joinErrors("comparing ids", errs)
}

// inProject reports whether rye.yaml requires an id or names it as a replacement.
func inProject(project *lock.ProjectFile, id lock.ID) bool {
	if project.Require[id] != "" {
		return true
	}
	for _, r := range project.Replace {
		if r.ID == id {
			return true
		}
	}
	return false
}

// checkAddress refuses a second address of a bundle: its version would be selected
// separately.
func checkAddress(x lock.Look, others []lock.Look) error {
	for _, y := range others {
		if x.Same(y) {
			return diag.New(diag.Unresolvable, "resolving %s: %s is the same bundle under another address", x.ID, y.ID).
				WithReason("same_bundle").WithDetail("bundle", x.ID.String())
		}
	}
	return nil
}

// requiredLooks returns the ids that rye.yaml required when the lock was written.
func requiredLooks(l *lock.Lock) []lock.Look {
	var out []lock.Look
	for i, look := range l.Looks() {
		if l.Bundles[i].Require != "" {
			out = append(out, look)
		}
	}
	return out
}
