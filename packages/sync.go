package packages

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/stagedir"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Lock computes the lock again. Locked versions stay. A remote that now has
// another commit for one of them is an error; a remote that does not answer is a
// note. A release that was not locked before may have to be accepted.
func (e *Engine) Lock(ctx context.Context, ask Approve) (*Result, error) {
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
	sol, err := e.solveFor(ctx, st, st.project)
	if err != nil {
		return nil, err
	}
	if err := approve("locking", ask, sol.changes); err != nil {
		return nil, err
	}
	r, err := e.commit(ctx, st, st.projectText, sol)
	if r != nil {
		r.Notes = append(r.Notes, notes...)
	}
	return r, err
}

// revalidate asks each remote once whether the locked versions are unchanged. A
// remote that does not answer is a note.
func (e *Engine) revalidate(ctx context.Context, l *lock.Lock) (notes []string, err error) {
	errs := each(ctx, len(l.Bundles), func(i int) error {
		b := l.Bundles[i]
		if !installs(b) {
			return nil
		}
		if err := checkEntry(b); err != nil {
			return err
		}
		return e.p.Source.Revalidate(ctx, originOf(b))
	})
	errs = slices.DeleteFunc(errs, func(err error) bool {
		if ctx.Err() == nil && isUnanswered(err) {
			notes = append(notes, err.Error())
			return true
		}
		return false
	})
	return notes, joinErrors("asking the remotes", errs)
}

// isUnanswered reports whether an error means that a remote gave no answer.
func isUnanswered(err error) bool {
	switch diag.CodeOf(err) {
	case diag.Network, diag.AuthRequired, diag.AuthFailed:
		return true
	}
	return false
}

// CheckLock returns an error if rye.lock is not what rye lock would write. It
// changes nothing and uses no network.
func (e *Engine) CheckLock(context.Context) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	return emptyResult(), e.check(st)
}

// check collects the errors in a lock that may not change.
func (e *Engine) check(st *state) error {
	rollback := e.checkRevocations(st)
	if rollback == nil && st.lock != nil {
		rollback = st.lock.StaleRevoked(e.p.Revoked)
	}
	return joinErrors("checking "+lock.LockFile, []error{
		rollback,
		st.checkSigned(),
		st.check(),
		e.checkReleases(st.lock),
	})
}

// check collects the differences between the files of the project.
func (st *state) check() error {
	doing := "checking " + lock.LockFile
	errs := []error{st.checkCurrent(), diag.FromFindings("checking "+lock.ProjectFileName, lock.Replaced(st.project, st.lock))}
	if st.lock == nil {
		return joinErrors(doing, errs)
	}
	for _, l := range st.lock.SumLines() {
		err := st.sum.Check(l.Module, l.Hash)
		if err != nil {
			errs = append(errs, err)
		} else if st.sum.Hash(l.Module) == "" {
			errs = append(errs, diag.New(diag.LockStale, "checking %s: it has no line for %s, which is locked", lock.SumFile, l.Module))
		}
	}
	if st.theirs == nil && !st.canonical() {
		// rye lock would write the text again: each warning about it is an error here.
		notes := slices.Clone(st.notes)
		for i := range notes {
			notes[i].Severity = diag.SeverityError
		}
		errs = append(errs, diag.FromFindings(doing, notes))
	}
	return joinErrors(doing, errs)
}

// Sync installs what the lock names and removes what it does not. A stale lock is
// computed again first, unless it may not change. With frozen, the lock is used
// as it is: nothing is resolved, and no network is used if the cache has every
// missing bundle.
func (e *Engine) Sync(ctx context.Context, frozen bool, ask Approve) (*Result, error) {
	st, err := e.load()
	if err != nil {
		return nil, err
	}
	if err := e.checkRevocations(st); err != nil {
		return nil, err
	}
	if e.p.Locked {
		if err := e.check(st); err != nil {
			return nil, err
		}
	}
	if err := st.checkCurrent(); err != nil {
		if !frozen {
			return e.Lock(ctx, ask)
		}
		if st.lock == nil || st.theirs != nil {
			return nil, err // there is no one lock to use
		}
	}
	return e.restore(ctx, st)
}

// restore makes the installed bundles equal to the lock. Without differences it
// does not wait for other processes.
func (e *Engine) restore(ctx context.Context, st *state) (*Result, error) {
	err := joinErrors("checking "+lock.LockFile, []error{st.checkSigned(), e.checkReleases(st.lock)})
	if err != nil {
		return nil, err
	}
	todo, unlocked, err := e.differences(ctx, st.lock)
	if err != nil {
		return emptyResult(), err
	}
	if len(todo)+len(unlocked) == 0 {
		e.tidy(ctx)
		return emptyResult(), nil
	}
	// Another process may have changed the lock while this one waited.
	st, release, err := e.holdState(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if st.theirs != nil {
		return nil, unmerged()
	}
	if todo, _, err = e.differences(ctx, st.lock); err != nil {
		return nil, err
	}
	return e.install(ctx, st, todo)
}

// differences returns the bundles to install and the install directories to
// remove.
func (e *Engine) differences(ctx context.Context, l *lock.Lock) (todo []lock.Bundle, unlocked []string, err error) {
	if l != nil {
		if todo, err = e.outdated(ctx, l); err != nil {
			return nil, nil, err
		}
	}
	unlocked, err = e.unlocked(l)
	return todo, unlocked, err
}

func (e *Engine) install(
	ctx context.Context,
	st *state,
	todo []lock.Bundle,
) (*Result, error) {
	if err := checkLookalikes(st.lock, todo); err != nil {
		return nil, err
	}
	stage, err := e.stageLocked(ctx, st, todo)
	if err != nil {
		return nil, err
	}
	// Another machine accepted the releases; from now on this one knows them too.
	keys := make([]string, len(todo))
	for i, b := range todo {
		keys[i] = sightKey(b)
	}
	seen, err := e.sights(ctx, keys)
	if err != nil {
		stage.Close()
		return nil, err
	}
	defer stage.Close()
	if err := e.commitStage(stage, todo); err != nil {
		return nil, err
	}
	r := emptyResult()
	// The lock installs the same on every machine, so a young release is installed. verify
	// --base refuses the change of the lock.
	for _, b := range todo {
		err := checkAge(
			e.rules(st.project),
			e.p.Now(),
			seen[sightKey(b)],
			b.Module(),
		)
		if err != nil && b.Sum != "" {
			r.Notes = append(r.Notes, err.Error()+"; it is installed because rye.lock has it, and rye verify --base BRANCH refuses it in a change of the lock")
		}
	}
	r.Installed = e.reportInstalled(todo)
	r.Removed, err = e.removeUnlocked(st.lock)
	return r, err
}

func (e *Engine) stageLocked(
	ctx context.Context,
	st *state,
	todo []lock.Bundle,
) (*stagedir.Stage, error) {
	src := source.Memo(e.p.Source)
	return e.stage(ctx, todo, func(b lock.Bundle) (*source.Snapshot, error) {
		snap, err := e.judgeLocked(ctx, src, st, b)
		if diag.CodeOf(err) != diag.HashMismatch || e.p.Offline {
			return snap, err
		}
		// The cache may be damaged: remove the damaged snapshots and fetch once more.
		checked, cacheErr := e.p.Cache.Verify(ctx, true)
		if cacheErr != nil || len(checked.Findings) == 0 {
			return nil, err
		}
		return e.judgeLocked(ctx, src, st, b)
	})
}

// judgeLocked returns the files of a locked bundle after checking them against
// the rules, the trust of this machine, rye.sum and the lock entry.
func (e *Engine) judgeLocked(
	ctx context.Context,
	src source.Source,
	st *state,
	b lock.Bundle,
) (*source.Snapshot, error) {
	err := e.rules(st.project).Source(b.Module())
	if err != nil {
		return nil, err
	}
	err = st.sum.Check(b.Module(), b.Sum)
	if err != nil {
		return nil, err
	}
	snap, err := e.fetchLocked(ctx, src, b)
	if err != nil {
		return nil, err
	}
	e.report(Fetched, b.Module())
	now := b
	_, err = e.judgeRelease(
		ctx,
		&now,
		&b,
		snap,
		e.rules(st.project),
		false,
	)
	if err != nil {
		return nil, err
	}
	if now.Manifest != b.Manifest {
		return nil, diag.New(diag.LockMismatch, "checking %s: its manifest is not the one that %s records", b.Module(), lock.LockFile).
			WithDetail("expected", b.Manifest.String()).WithDetail("found", now.Manifest.String())
	}
	if err := checkListed(b, now, snap); err != nil {
		return nil, err
	}
	return snap, e.checkContinuity(&b, &now)
}

// checkListed refuses an entry that does not list what its release asks for or its
// executables: rules are compared with the entry.
func checkListed(b, now lock.Bundle, snap *source.Snapshot) error {
	describe(&now, snap)
	for _, x := range []struct {
		field     string
		have, all []string
	}{{"caps", b.Caps, now.Caps}, {"exec", b.Exec, now.Exec}} {
		for _, one := range x.all {
			if !slices.Contains(x.have, one) {
				return diag.New(
					diag.LockMismatch,
					"checking %s: its entry in %s does not list %s below %s",
					b.Module(),
					lock.LockFile,
					one,
					x.field,
				).
					WithReason("lock_edited").WithDetail("bundle", b.ID.String())
			}
		}
	}
	return nil
}
