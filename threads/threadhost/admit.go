package threadhost

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/store"
)

// How long the start of a thread waits while as many run as may, and between two tries.
const (
	PlaceWait  = 60 * time.Second
	placePause = 250 * time.Millisecond
)

// Admit admits a child of the thread to the registry and returns its limits, which are
// within the limits and the balance of the thread. While as many threads run as may, it waits
// for one to end, and while running children hold the money that it needs, for the money that
// they return.
//
// A start beyond concurrency tries again for 60 s without a row, so what a killed starter leaves
// is always the same.
func (r *Run) Admit(
	ctx context.Context,
	child store.Thread,
	o *Options,
	prepared *prepare.Prepared,
) (threads.Limits, error) {
	l := prepared.Limits
	a, _, err := r.Project.Allowance(ctx)
	if err != nil {
		return l, err
	}
	cfg, err := settings.Resilience(ctx, r.Project.Resolver)
	if err != nil {
		return l, err
	}
	t := r.thread()
	if t == nil || r.Account == nil {
		return l, diag.New(diag.Internal, "starting a thread of %s: it has no account", r.id)
	}
	left := r.Limits.DurationSeconds - t.Used().DurationMS/1000
	l.DurationSeconds = max(1, min(l.DurationSeconds, left))
	ask := store.Share{Spend: l.Spend, Depth: l.Depth, Spawns: l.Spawns}
	call := o.CallID
	if err := r.starts.wait(ctx, call); err != nil {
		return l, err
	}
	defer r.starts.passed(call)
	terms, err := r.terms(ctx, t, call, o, prepared)
	if err != nil {
		return l, err
	}
	for began := time.Now(); ; {
		got, err := r.Account.Spawn(ctx, child, ask, terms, a.Concurrency)
		if err == nil {
			l.Spend = got.Spend
			l.Depth = got.Depth
			l.Spawns = got.Spawns
			return l, nil
		}
		wait := PlaceWait
		if diag.CodeOf(err) == diag.BudgetExceeded {
			wait = cfg.ChildWait
		}
		if !diag.Typed(err).Retryable || time.Since(began) >= wait {
			return l, r.Account.Owned(err)
		}
		// A thread whose process was stopped runs for the registry until it is settled.
		_, err = control.ListFrom(ctx, r.Project, func(*store.Store) ([]store.Cost, error) {
			return nil, nil
		})
		if err != nil {
			return l, err
		}
		if err := control.Pause(ctx, placePause); err != nil {
			return l, err
		}
	}
}

// terms returns how the money of the thread is divided between its own next call and the
// calls of the newest answer that start threads.
func (r *Run) terms(
	ctx context.Context,
	t *threads.Thread,
	call string,
	o *Options,
	prepared *prepare.Prepared,
) (store.Terms, error) {
	keep, err := t.NextCall()
	if err != nil {
		return store.Terms{}, err
	}
	out := store.Terms{Keep: keep, Calls: r.starts.left(call)}
	balance, err := r.Account.Balance(ctx)
	if err != nil {
		return out, err
	}
	part, ok := out.Part(balance.Left(), prepared.Limits.Spend)
	if ok && part == prepared.Limits.Spend {
		return out, nil // it gets all that it asks for: what its first call costs decides nothing
	}
	out.Least, err = firstCall(ctx, r.Project, o, prepared)
	return out, err
}

// alone is a context without the values of the thread whose call it is.
type alone struct{ context.Context }

func (alone) Value(any) any {
	return nil
}

// firstCall returns the lowest price that the first call of a thread needs: its worst case with the
// shortest answer.
func firstCall(
	ctx context.Context,
	p *project.Project,
	o *Options,
	prepared *prepare.Prepared,
) (policy.USD, error) {
	if len(prepared.Services) == 0 {
		return 0, nil
	}
	child := *prepared
	child.HoldBelow(o.Held, o.isChild())                         // as its process does
	r := &Run{Prepared: &child, Project: p.For(nil), Options: o} // not the project of the thread that starts it
	prompt, err := r.Compose(alone{ctx})
	if err != nil {
		return 0, err
	}
	s := prepared.Services[0]
	req := firstRequest(prepared, s, prompt)
	req.MaxOutput = min(max(prepared.MinOutput, 1), req.MaxOutput)
	e, err := s.WorstCase(req, nil)
	return e.Cost, err
}
