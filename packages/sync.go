package packages

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Lock computes the lock again. What is locked stays locked; versions whose
// remote says something else by now are refused, unless it cannot be asked.
func (e *Engine) Lock(ctx context.Context) (*Result, error) {
	if e.p.Locked {
		return e.CheckLock(ctx)
	}
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var notes []string
	if st.lock != nil && !e.p.Offline {
		if notes, err = e.revalidate(ctx, st.lock); err != nil {
			return nil, err
		}
	}
	sol, err := e.solveFor(ctx, st, st.manifest)
	if err != nil {
		return nil, err
	}
	r, err := e.commit(ctx, st, st.manifestText, sol)
	if r != nil {
		r.Notes = append(r.Notes, notes...)
	}
	return r, err
}

// revalidate asks each remote once whether what is locked is still there. A
// remote that gives no answer is a note.
func (e *Engine) revalidate(ctx context.Context, l *lock.Lock) (notes []string, err error) {
	errs := each(ctx, l.Bundles, func(b lock.Bundle) error {
		id, err := lock.ParseID(b.ID)
		if err != nil || !installs(b) {
			return err
		}
		if err := consistent(id, b); err != nil {
			return err
		}
		return e.p.Source.Revalidate(ctx, originOf(id, b))
	})
	errs = slices.DeleteFunc(errs, func(err error) bool {
		if ctx.Err() == nil && silent(err) {
			notes = append(notes, err.Error())
			return true
		}
		return false
	})
	return notes, together("asking the remotes", errs)
}

// silent reports whether an error is that of a remote that gave no answer.
func silent(err error) bool {
	switch diag.CodeOf(err) {
	case diag.Network, diag.AuthRequired, diag.AuthFailed:
		return true
	}
	return false
}

// CheckLock says whether the lock is what the manifest asks for. It writes
// nothing and asks nobody.
func (e *Engine) CheckLock(context.Context) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	return emptyResult(), e.check(st, e.p.System)
}

// check is what a lock that may not change must pass.
func (e *Engine) check(st *state, system lock.System) error {
	errs := []error{e.rolledBack(st)}
	if errs[0] == nil && st.lock != nil {
		errs[0] = st.lock.StaleRevoked(e.p.Revoked)
	}
	return together("checking "+lock.LockFile, some(append(errs, st.check(system), e.takenBack(st.lock))))
}

func emptyResult() *Result {
	return &Result{Changes: []Change{}, Installed: []string{}, Removed: []string{}, Wrote: []string{}}
}

// check collects what is not as it should be.
func (st *state) check(system lock.System) error {
	errs := []error{st.current(), diag.FromFindings("checking "+lock.ManifestFile, lock.Replaced(st.manifest, st.lock))}
	if st.lock == nil {
		return together("checking "+lock.LockFile, some(errs))
	}
	for _, l := range st.lock.SumLines() {
		if err := st.sum.Check(l.Module, l.Hash); err != nil {
			errs = append(errs, err)
		} else if st.sum.Hash(l.Module) == "" {
			errs = append(errs, diag.New(diag.LockStale, "checking %s: it has no line for %s, which is locked", lock.SumFile, l.Module).WithHint("rye lock"))
		}
	}
	if st.theirs == nil && !st.canonical() {
		errs = append(errs, diag.FromFindings("checking "+lock.LockFile, worse(st.odd)))
	}
	if system != (lock.System{}) {
		errs = append(errs, st.lock.CheckSystem(system))
	}
	return together("checking "+lock.LockFile, some(errs))
}

func some(errs []error) []error {
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// worse turns warnings into errors: a check fails for what its command would
// change.
func worse(fs []diag.Finding) []diag.Finding {
	out := slices.Clone(fs)
	for i := range out {
		out[i].Severity = diag.SeverityError
	}
	return out
}

// Sync makes what is installed equal to the lock. A stale lock is computed
// again first, unless it may not change. Frozen takes the lock as it stands,
// resolves nothing, and needs no network when the cache holds what is missing.
func (e *Engine) Sync(ctx context.Context, frozen bool) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if err := e.rolledBack(st); err != nil {
		return nil, err
	}
	if e.p.Locked {
		if err := e.check(st, lock.System{}); err != nil {
			return nil, err
		}
	}
	if err := st.current(); err != nil && !frozen {
		return e.Lock(ctx)
	}
	if st.lock == nil || st.theirs != nil {
		if err := st.current(); err != nil {
			return nil, err
		}
	}
	return e.restore(ctx, st)
}

// restore installs what the lock names and removes what it does not. That there
// is nothing to do is found without waiting for others; else the lock is read
// again once nobody else changes it.
func (e *Engine) restore(ctx context.Context, st *state) (*Result, error) {
	if err := e.takenBack(st.lock); err != nil {
		return nil, err
	}
	if todo, extra, err := e.differences(ctx, st.lock); err != nil || len(todo)+len(extra) == 0 {
		return emptyResult(), err
	}
	release, err := e.hold(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if st, err = e.load(); err != nil {
		return nil, err
	}
	if st.theirs != nil {
		return nil, st.current()
	}
	todo, _, err := e.differences(ctx, st.lock)
	if err != nil {
		return nil, err
	}
	return e.install(ctx, st, todo)
}

// differences returns what is to be installed and what is to go.
func (e *Engine) differences(ctx context.Context, l *lock.Lock) ([]lock.Bundle, []string, error) {
	var todo []lock.Bundle
	var err error
	if l != nil {
		if todo, err = e.lacking(ctx, l); err != nil {
			return nil, nil, err
		}
	}
	extra, err := e.extra(l)
	return todo, extra, err
}

func (e *Engine) install(ctx context.Context, st *state, todo []lock.Bundle) (*Result, error) {
	if err := strange(st.lock, todo); err != nil {
		return nil, err
	}
	src := source.Memo(e.p.Source)
	t, err := e.stage(ctx, todo, func(b lock.Bundle) (*source.Snapshot, error) { return e.lockedAndJudged(ctx, src, st, b) })
	if err != nil {
		return nil, err
	}
	if err := t.place(); err != nil {
		t.undo()
		return nil, err
	}
	t.end()
	r := emptyResult()
	for _, b := range todo {
		e.tell(Installed, b.Module())
		r.Installed = append(r.Installed, b.Module().String())
	}
	r.Removed, err = e.clear(st.lock)
	return r, err
}

// lockedAndJudged is judgeLocked, which it tries again when it was the cache
// that gave out broken bytes: what is broken there is removed and fetched anew.
func (e *Engine) lockedAndJudged(ctx context.Context, src source.Source, st *state, b lock.Bundle) (*source.Snapshot, error) {
	snap, err := e.judgeLocked(ctx, src, st, b)
	if diag.CodeOf(err) != diag.HashMismatch || e.p.Offline {
		return snap, err
	}
	if got, bad := e.p.Cache.Verify(ctx, true); bad != nil || len(got.Findings) == 0 {
		return nil, err
	}
	return e.judgeLocked(ctx, src, st, b)
}

// judgeLocked returns the files of a locked bundle once this machine's trust
// and the project's rules agree with what the lock says of them.
func (e *Engine) judgeLocked(ctx context.Context, src source.Source, st *state, b lock.Bundle) (*source.Snapshot, error) {
	id, err := lock.ParseID(b.ID)
	if err != nil {
		return nil, err
	}
	if err := e.rules(st.manifest).Source(b.Module(), id); err != nil {
		return nil, err
	}
	if err := st.sum.Check(b.Module(), b.Sum); err != nil {
		return nil, err
	}
	snap, err := e.locked(ctx, src, id, b)
	if err != nil {
		return nil, err
	}
	e.tell(Fetched, b.Module())
	now := b
	if _, err := e.vouch(ctx, &now, snap, e.rules(st.manifest), false); err != nil {
		return nil, err
	}
	if now.Manifest != b.Manifest {
		return nil, diag.New(diag.LockMismatch, "checking %s: its manifest is not the one that %s records", b.Module(), lock.LockFile).
			WithDetail("expected", b.Manifest.String()).WithDetail("found", now.Manifest.String())
	}
	return snap, e.continuity(&b, &now)
}
