package ledger

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// WithStore calls do with the store, if the user account has one.
func WithStore(ctx context.Context, p *project.Project, do func(*store.Store) error) error {
	return store.WithExisting(ctx, p.Dirs.State, p.Env.Now, do)
}

// OwnProcess identifies this process as the owner of threads.
func OwnProcess() store.Process {
	id, ok := proc.IdentityOf(os.Getpid())
	if !ok {
		return store.Process{PID: os.Getpid()}
	}
	return store.Process{PID: id.PID, Start: id.Start, Boot: id.Boot}
}

// Open opens the ledger of the user, with the allowance that bounds it.
func Open(ctx context.Context, p *project.Project) (*store.Store, policy.Allowance, error) {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, a, err
	}
	if p.Dirs.State == "" {
		return nil, a, diag.New(diag.FileSystemError, "opening the ledger: the environment names no state directory that is the user's own").WithReason("no_state_directory")
	}
	s, err := store.Open(
		ctx,
		store.Dir(p.Dirs.State),
		store.Params{Now: p.Env.Now, Process: OwnProcess()},
	)
	return s, a, err
}

// OpenAccount registers a thread in the ledger, in s if it is open.
func OpenAccount(
	ctx context.Context,
	p *project.Project,
	s *store.Store,
	th store.Thread,
	b store.Budget,
) (*Account, error) {
	a, _, err := p.Allowance(ctx)
	if err == nil && s == nil {
		s, a, err = Open(ctx, p)
	}
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	th.Project = p.Spaces.ProjectDir
	th.Kind = "thread"
	b.Periods = a.Spend
	owner, err := s.Register(ctx, th, b)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return &Account{Store: s, Owner: owner}, nil
}

// Account is the account of a thread in the ledger.
type Account struct {
	Store *store.Store // nil if a run of a graph has opened it
	*store.Owner
	lost  func(error)   // the thread must not continue
	Token *token.Claims // nil without one
	Now   func() time.Time
}

// Keep implements threads.Ledger.
func (a *Account) Keep(ctx context.Context, lost func(error)) (stop func()) {
	a.lost = lost
	return a.Owner.Keep(ctx, lost)
}

// Owned returns its error, and reports the error of a thread that must not continue.
func (a *Account) Owned(err error) error {
	if a.lost != nil && (store.IsTakenOver(err) || diag.CodeOf(err) == diag.TokenInvalid) {
		a.lost(err)
	}
	return err
}

// Reserve implements threads.Ledger.
func (a *Account) Reserve(ctx context.Context, id, model string, amount policy.USD) error {
	if err := a.Permitted(ctx); err != nil {
		return err
	}
	return a.Owned(a.Owner.Reserve(ctx, id, model, amount))
}

// Settle implements threads.Ledger.
func (a *Account) Settle(ctx context.Context, id string, actual policy.USD, assumed bool) error {
	s, err := a.Owner.Settle(ctx, id, actual, assumed)
	if err != nil {
		return a.Owned(err)
	}
	return s.Err()
}

// Recover implements threads.Ledger.
func (a *Account) Recover(ctx context.Context, sent func(id string) bool) error {
	_, err := a.Owner.Recover(ctx, func(id string) store.Outcome {
		return store.Outcome{Sent: sent(id)}
	})
	return err
}

// Pause implements threads.Ledger.
func (a *Account) Pause(ctx context.Context, reason string) error {
	err := a.Suspend(ctx, reason)
	if a.Store == nil {
		return err
	}
	return errors.Join(err, a.Store.Close())
}

// Release implements threads.Ledger.
func (a *Account) Release(ctx context.Context, state, reason string) error {
	err := a.Owner.Release(ctx, state, reason)
	if a.Store == nil {
		return err
	}
	return errors.Join(err, a.Store.Close())
}

// Permitted returns TOKEN_INVALID, and ends the thread, if its token has expired or was
// revoked. It is nil for a thread without one, which a person or a run started.
// A thread that a person starts or resumes at a terminal has no token, but the permissions of
// that person.
//
// Of the verdicts only REVOKED ends a running thread: a grant that is removed applies to the
// next one.
func (a *Account) Permitted(ctx context.Context) error {
	if a == nil || a.Token == nil {
		return nil
	}
	err := a.Token.Live(a.Now())
	if err == nil {
		err = a.Store.CheckToken(ctx, a.Token.ID, a.Token.Thread)
	}
	return a.Owned(err)
}
