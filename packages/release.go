package packages

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/trust"
)

// Release is a release in the cache that was judged as Add judges it. It is not
// installed, and no file of the space records it.
type Release struct {
	Bundle   lock.Bundle // as the lock would record it; without signers if it is refused
	Snapshot *source.Snapshot
	Refused  error    // why Add would refuse it, nil if it would not
	Notes    []string // warnings: about an id that is almost a required one
	// Trust are the trust documents that the release was judged by, with what its registry
	// revokes. Its items must be judged by them, too.
	Trust *trust.Store

	warnings []diag.Finding // about the files
}

// Release fetches a release and judges it: the id, the signatures, the signers before, and
// the rules, its age included. The error is why it cannot be fetched, or why its id is
// refused; a refused release can still be read.
func (e *Engine) Release(ctx context.Context, q Query) (*Release, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	was := st.previous(q.ID)
	if was != nil && q.Version == "" {
		q.Version = was.Version // as Add does
	}
	return e.release(ctx, st, q)
}

// release is Release for a loaded state, without a version for the newest one.
func (e *Engine) release(ctx context.Context, st *state, q Query) (*Release, error) {
	s, err := e.permitted(st, q)
	if err != nil {
		return nil, err
	}
	o, err := e.p.Source.Resolve(ctx, q.ID, q.Version)
	if err != nil {
		return nil, err
	}
	if err := e.learnRevocations(ctx); err != nil {
		return nil, err
	}
	mod := lock.Module{ID: q.ID, Version: o.Version}
	e.report(Fetching, mod)
	snap, err := e.p.Source.Fetch(ctx, o)
	if err != nil {
		return nil, err
	}
	return e.judged(ctx, s, mod, snap)
}

// Cached is Release for a version whose files are in the cache with a sum. It uses no network,
// and does not prove that the log of a registry has the version.
func (e *Engine) Cached(ctx context.Context, mod lock.Module, sum string) (*Release, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	s, err := e.permitted(st, Query{ID: mod.ID, Version: mod.Version})
	if err != nil {
		return nil, err
	}
	snap, err := e.p.Cache.Open(sum)
	if err != nil {
		return nil, err
	}
	snap.Origin = source.Origin{ID: mod.ID, Version: mod.Version}
	return e.judged(ctx, s, mod, snap)
}

// permitted returns the solver of a loaded state, or why the rules or the other ids of the
// lock forbid the id.
func (e *Engine) permitted(st *state, q Query) (*solver, error) {
	s, err := e.solver(st, st.project)
	if err != nil {
		return nil, err
	}
	err = s.rules().Source(lock.Module{ID: q.ID, Version: q.Version})
	if err != nil {
		return nil, err
	}
	draft := &lock.Lock{}
	if st.lock != nil {
		draft.Bundles = slices.Clone(st.lock.Bundles)
	}
	if st.previous(q.ID) == nil {
		draft.Bundles = append(draft.Bundles, lock.Bundle{ID: q.ID, Version: q.Version})
	}
	return s, s.compareIDs(draft)
}

// judged returns the verdict about the files of a release.
func (e *Engine) judged(
	ctx context.Context,
	s *solver,
	mod lock.Module,
	snap *source.Snapshot,
) (*Release, error) {
	out := &Release{
		Trust:    e.p.Trust,
		Bundle:   lock.Bundle{ID: mod.ID, Version: mod.Version},
		Snapshot: snap,
		Notes:    s.notes,
	}
	was := s.st.previous(mod.ID)
	describe(&out.Bundle, out.Snapshot)
	out.warnings, out.Refused = e.judgeRelease(
		ctx,
		&out.Bundle,
		was,
		out.Snapshot,
		s.rules(),
		false,
	)
	if out.Refused == nil {
		out.Refused = e.checkContinuity(was, &out.Bundle)
	}
	locked := was != nil && was.Version == out.Bundle.Version
	if out.Refused == nil && !locked {
		out.Refused = e.checkFirstSight(ctx, s.rules(), &out.Bundle, out.Snapshot)
	}
	return out, context.Cause(ctx)
}

// checkFirstSight refuses a release that this account knows for less time than the rules
// allow.
func (e *Engine) checkFirstSight(
	ctx context.Context,
	rules Rules,
	b *lock.Bundle,
	snap *source.Snapshot,
) error {
	seen, err := e.firstSights(
		ctx,
		[]*lock.Bundle{b},
		map[lock.Module]*source.Snapshot{b.Module(): snap},
	)
	if err != nil {
		return err
	}
	return checkAge(
		rules,
		e.p.Now(),
		seen[sightKey(*b)],
		b.Module(),
	)
}

// After adds the verdict of an engine of another space about the same release: its notes,
// and why it refused the release, unless this engine found that it must not be read.
func (r *Release) After(before *Release) {
	r.Notes = append(slices.Clone(before.Notes), r.Notes...)
	if before.Refused != nil && !r.Unsafe() {
		r.Refused = before.Refused
	}
}

// Unsafe reports whether a refused release must not even be read: its files are not those
// that its author or the log of its registry names, or a key or a rule withdrew it. Of a
// release of an unknown signer the files are intact.
func (r *Release) Unsafe() bool {
	switch diag.CodeOf(r.Refused) {
	case "", diag.KeyUnknown, diag.Scope:
		return false
	}
	return true
}
