package project

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

// RefreshLock brings the entries of the project's items that were signed up to
// date. It makes no lock and accepts nothing that was not signed just now.
func (p *Project) RefreshLock(ctx context.Context, reports []primary.SignReport) error {
	refs := signedRefs(reports)
	if len(refs) == 0 {
		return nil
	}
	for _, err := range p.LockErrs {
		p.Env.Person.warn("%s was not brought up to date: %s", lock.LockFile, err)
	}
	if p.Lock == nil || len(p.LockErrs) > 0 {
		return nil
	}
	release, err := p.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	sl, err := readSpaceLock(p.Spaces.Of(space.Project)) // as it is now
	if err != nil || sl == nil {
		return err
	}
	p.Env.resolving = !p.Env.locked()
	changed, notes, err := p.Verbs.RefreshLock(ctx, sl.Lock, refs)
	p.Env.lockNotes(notes)
	if err != nil || !changed {
		return err
	}
	if err := atomicfile.Project(sl.Dir).Write(lock.LockFile, sl.Lock.Render(), 0o644); err != nil {
		return diag.Doing("writing "+lock.LockFile, err)
	}
	p.Env.Person.note("%s is up to date", lock.LockFile)
	return nil
}

// lockNotes warns of entries that were not updated.
func (e *Env) lockNotes(notes []diag.Finding) {
	for _, f := range notes {
		e.Person.finding(f)
	}
}

// signedRefs returns the items of the project that were signed again.
func signedRefs(reports []primary.SignReport) []item.Ref {
	var out []item.Ref
	for _, r := range reports {
		if r.Status != primary.Signed && r.Status != primary.Upgraded || !strings.HasPrefix(r.Path, space.Dir+"/") {
			continue
		}
		if ref, err := item.ParseRef(r.Ref, ""); err == nil {
			out = append(out, ref)
		}
	}
	return out
}

// hold waits until no other process changes the lock of the project, and keeps
// others from it until release is called.
func (p *Project) hold(ctx context.Context) (release func(), err error) {
	return packages.Hold(ctx, p.Spaces.Of(space.Project).Base)
}
