package adopt

import (
	"context"
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/interop/scan"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/review"
)

// Sync installs the adopted sources of the lock that are missing or differ, from the cache
// or from their locked address. A source with a finding is not installed; the findings are
// the error.
func (e *Engine) Sync(ctx context.Context) (installed []string, err error) {
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil || st.Lock == nil || len(st.Lock.Adopted) == 0 {
		return nil, err
	}
	release, err := packages.Hold(ctx, e.p.Base)
	if err != nil {
		return nil, err
	}
	defer release()
	// The install directories are what Sync repairs, so they are not compared here.
	list := Verify(VerifyParams{
		Files:   lock.Dir(e.p.Base),
		Lock:    st.Lock,
		Project: st.ProjectFile,
		Rules:   e.p.Rules,
		Trust:   e.p.Trust,
	})
	err = diag.FromFindings("installing adopted sources", Findings(list))
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		// No directory is written again without need: other programs may read it.
		p := VerifyParams{Base: e.p.Base}
		if there, same := p.state(s.Entry); there && same {
			continue
		}
		snap, err := e.locked(ctx, s.Entry)
		if err != nil {
			return installed, err
		}
		components := make([]review.Component, len(s.Results))
		for i, r := range s.Results {
			components[i] = r.Component
		}
		err = e.installAs(ctx, s.Entry, components, snap)
		if err != nil {
			return installed, err
		}
		installed = append(installed, s.Entry.Module().String())
	}
	return installed, nil
}

// locked returns the files of the locked commit.
func (e *Engine) locked(ctx context.Context, a lock.Adopted) (*source.Snapshot, error) {
	return e.p.Source.Fetch(ctx, source.Origin{
		ID:        a.ID,
		Version:   a.Version,
		URL:       a.URL,
		Ref:       a.Ref,
		TagObject: a.Tag,
		Commit:    a.Commit,
		Tree:      a.Tree,
		Subdir:    a.ID.Subdir,
		Whole:     true,
	})
}

// ProposeLocked returns the locked components of a source, for a review by another person,
// or by the same one after the files of the review were removed.
func (e *Engine) ProposeLocked(ctx context.Context, a lock.Adopted) (*Proposal, error) {
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil {
		return nil, err
	}
	err = e.permits(st.ProjectFile, a.Module())
	if err != nil {
		return nil, err
	}
	p := &Proposal{ID: a.ID, Require: a.Require, Before: &a}
	if p.Snapshot, err = e.locked(ctx, a); err != nil {
		return nil, err
	}
	p.Origin = p.Snapshot.Origin
	if p.Found, err = scan.Components(files{p.Snapshot}); err != nil {
		return nil, err
	}
	return p, e.choose(st, p, Selection{Patterns: a.Use, All: len(a.Use) == 0})
}

// Forget removes the reviews of sources that the lock does not have any more. Before is the
// lock from before the change.
func (e *Engine) Forget(before *lock.Lock) error {
	if before == nil {
		return nil
	}
	st, err := lock.ReadState(lock.Dir(e.p.Base), nil)
	if err != nil {
		return err
	}
	base := atomicfile.Project(e.p.Base)
	for _, a := range before.Adopted {
		// Only what the change removed is removed here.
		if st.Lock.AdoptedSource(a.ID) != nil {
			continue
		}
		dir, err := Dir(a)
		if err != nil {
			return err
		}
		names, err := lock.Dir(e.p.Base).Glob(dir + "/*")
		if err != nil {
			return diag.Doing("listing the reviews of "+a.ID.String(), err)
		}
		for _, name := range names {
			err = base.Remove(name)
			if err != nil {
				return diag.Doing("removing the review of "+a.ID.String(), err)
			}
		}
		// Directories above that have other sources are not empty, and stay.
		for ; dir != space.Dir; dir = path.Dir(dir) {
			if base.Remove(dir) != nil {
				break
			}
		}
	}
	return nil
}
