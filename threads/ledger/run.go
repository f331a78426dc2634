package ledger

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/store"
)

// RunAccount is what a run of a graph may spend on threads: an account in the ledger of
// the user, which is opened for the first thread. A called run has an account of its own,
// below its caller's, only if its graph limits spend.
//
// turns and tokens bound each thread below the run, because a graph has no calls of its own.
type RunAccount struct {
	p      *project.Project
	run    string
	graph  *graphdef.Graph
	digest item.Digest
	above  *RunAccount // of the run whose node called this one
	again  bool        // an earlier process can have opened the account

	Tree   *sync.Mutex // of a root and all below it
	Store  *store.Store
	owner  *store.Owner          // nil until it is opened
	stop   func()                // ends the renewals of its lease
	lost   atomic.Pointer[error] // another process has taken the run over
	spawns map[string]bool       // the threads below the run; nil until they are counted
}

// AccountOfRun returns the account of a run of a graph, nil in a thread. above is the account of the
// run whose node calls this one, nil without one.
func AccountOfRun(
	p *project.Project,
	within exec.Call,
	g *graphdef.Graph,
	digest item.Digest,
	above *RunAccount,
) *RunAccount {
	if within.Thread != "" {
		return nil
	}
	a := &RunAccount{
		p:      p,
		graph:  g,
		digest: digest,
		Tree:   &sync.Mutex{},
	}
	if above != nil {
		a.above = above
		a.Tree = above.Tree
	}
	return a
}

// Named sets the id of the run, which is known when the run makes its first call.
func (a *RunAccount) Named(run string) {
	a.Tree.Lock()
	a.run = run
	a.Tree.Unlock()
}

// Resumes states that the run is one that an earlier process started.
func (a *RunAccount) Resumes(run string) {
	a.Named(run)
	a.again = true
}

// reopen opens the account that an earlier process of the run left open, if there is
// one: this process has started no thread. The caller has the lock.
func (a *RunAccount) reopen(ctx context.Context) error {
	if !a.again ||
		a.p.Dirs.State == "" ||
		a.above != nil && a.graph.Limits.Spend == nil {
		return nil
	}
	s, err := store.Open(
		ctx,
		store.Dir(a.p.Dirs.State),
		store.Params{Now: a.p.Env.Now, Existing: true},
	)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, has, err := s.Max(ctx, a.run)
	if err = errors.Join(err, s.Close()); err == nil && has {
		_, err = a.Open(ctx)
	}
	return err
}

// Open returns the account that pays the threads of the run. The caller has the lock.
func (a *RunAccount) Open(ctx context.Context) (owner *store.Owner, err error) {
	switch {
	case a.lost.Load() != nil:
		return nil, *a.lost.Load()
	case a.owner != nil:
		return a.owner, nil
	case a.above != nil && a.graph.Limits.Spend == nil:
		return a.above.Open(ctx)
	}
	th := store.Thread{
		ID:      a.run,
		Project: a.p.Spaces.ProjectDir,
		Kind:    "run",
		Ref:     a.graph.Ref.String(),
		Digest:  a.digest.String(),
	}
	if th.Spawns, err = a.mostSpawns(ctx); err != nil {
		return nil, err
	}
	if a.above == nil {
		return a.openRoot(ctx, th)
	}
	up, err := a.above.Open(ctx)
	if err != nil {
		return nil, err
	}
	most, err := up.Left(ctx)
	if err != nil {
		return nil, err
	}
	most = min(most, *a.graph.Limits.Spend)
	a.Store = nil
	if have, ok, err := a.Root().Store.Max(ctx, a.run); err != nil {
		return nil, err
	} else if ok {
		most = have // of an earlier process
	}
	if a.owner, err = up.Child(ctx, th, most); err != nil {
		a.owner = nil
		return nil, err
	}
	a.keep(ctx)
	return a.owner, nil
}

// keep renews the lease of the run until it ends. One that another process has taken over
// starts no thread any more.
func (a *RunAccount) keep(ctx context.Context) {
	a.stop = a.owner.Keep(ctx, func(err error) {
		a.lost.Store(&err)
	})
}

func (a *RunAccount) Root() *RunAccount {
	for a.above != nil {
		a = a.above
	}
	return a
}

func (a *RunAccount) openRoot(ctx context.Context, th store.Thread) (*store.Owner, error) {
	s, allowance, err := Open(ctx, a.p)
	if err != nil {
		return nil, err
	}
	def, err := settings.Defaults(ctx, a.p.Resolver)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	most := min(def.Limits.Spend, allowance.Limits.Spend)
	if limit := a.graph.Limits.Spend; limit != nil {
		most = min(*limit, allowance.Limits.Spend)
	}
	if a.owner, err = s.Register(ctx, th, store.Budget{Max: most, Periods: allowance.Spend}); err != nil {
		a.owner = nil
		return nil, errors.Join(err, s.Close())
	}
	a.Store = s
	a.keep(ctx)
	return a.owner, nil
}

// Within returns limits that are at most the limits of the run and of the runs above it.
func (a *RunAccount) Within(l threads.Limits) threads.Limits {
	for ; a != nil; a = a.above {
		if n := a.graph.Limits.Turns; n != nil {
			l.Turns = min(l.Turns, *n)
		}
		if n := a.graph.Limits.Tokens; n != nil {
			l.Tokens = min(l.Tokens, *n)
		}
	}
	return l
}

// Spawn counts a thread in the run and in those above it. One of an earlier process is
// counted already.
func (a *RunAccount) Spawn(ctx context.Context, thread string) error {
	for x := a; x != nil; x = x.above {
		if err := x.countSpawns(); err != nil {
			return err
		}
		most, err := x.mostSpawns(ctx)
		if err != nil {
			return err
		}
		if !x.spawns[thread] && int64(len(x.spawns)) >= most {
			return diag.New(diag.LimitExceeded, "running %s: its limit of spawns is reached: it started %d threads", x.graph.Ref, len(x.spawns)).
				WithDetail("limit", "spawns").
				WithDetail("value", len(x.spawns)).
				WithDetail("max", most)
		}
	}
	for x := a; x != nil; x = x.above {
		x.spawns[thread] = true
	}
	return nil
}

// mostSpawns returns how many threads may be started below the run.
func (a *RunAccount) mostSpawns(ctx context.Context) (int64, error) {
	allowance, _, err := a.p.Allowance(ctx)
	if err != nil {
		return 0, err
	}
	def, err := settings.Defaults(ctx, a.p.Resolver)
	if n := a.graph.Limits.Spawns; n != nil {
		return min(*n, allowance.Limits.Spawns), err
	}
	return min(def.Limits.Spawns, allowance.Limits.Spawns), err
}

func (a *RunAccount) countSpawns() error {
	if a.spawns != nil {
		return nil
	}
	below, err := graph.Below(a.p.Spaces.ProjectDir, a.run)
	if err != nil {
		return err
	}
	a.spawns = map[string]bool{}
	for _, c := range below {
		if c.Thread {
			a.spawns[c.ID] = true
		}
	}
	return nil
}

// End releases the account of a thread of the run that has ended.
func (a *RunAccount) End(ctx context.Context, thread, state string) error {
	a.Tree.Lock()
	defer a.Tree.Unlock()
	if _, err := a.Open(ctx); err != nil {
		return err
	}
	return a.Root().Store.End(ctx, thread, state, "")
}

// Settle implements graph.Params.Settle. The account of a run that is suspended stays
// open: no process owns it until the run continues.
func (a *RunAccount) Settle(ctx context.Context, state string) (spent *policy.USD, err error) {
	a.Tree.Lock()
	defer a.Tree.Unlock()
	if a.owner == nil {
		if err := a.reopen(ctx); err != nil || a.owner == nil {
			return nil, err
		}
	}
	a.stop()
	account, err := a.owner.Account(ctx)
	switch {
	case err != nil:
	case state == graph.StateSuspended:
		err = a.owner.Suspend(ctx, "")
	default:
		err = a.owner.Release(ctx, state, "")
	}
	if a.Store != nil {
		err = errors.Join(err, a.Store.Close())
	}
	a.owner = nil
	a.Store = nil
	return &account.Actual, err
}

// Settles reports whether Settle has an account to close: a run that started no thread has
// none, unless an earlier process of it opened one.
func (a *RunAccount) Settles() bool {
	a.Tree.Lock()
	defer a.Tree.Unlock()
	return a.owner != nil || a.again
}

// EndAccounts releases the accounts of runs that no process runs any more, the lowest
// first.
func EndAccounts(ctx context.Context, p *project.Project, runs []string, state string) error {
	return WithStore(ctx, p, func(s *store.Store) (err error) {
		for _, id := range runs {
			err = errors.Join(err, s.End(ctx, id, state, ""))
		}
		return err
	})
}
