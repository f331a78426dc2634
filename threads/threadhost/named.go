package threadhost

import (
	"context"

	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/store"
)

// number returns the number of the thread: the registry has it since it has the account,
// except for a thread that continues an earlier one.
func (r *Run) number(ctx context.Context, id string) (int64, error) {
	return r.numberIn(ctx, r.Account, id)
}

func (r *Run) numberIn(ctx context.Context, money *ledger.Account, id string) (int64, error) {
	if money == nil {
		return 0, nil // a replay has no account
	}
	name := r.Name(r.Project)
	nothing := ""
	return money.Number(ctx, store.Handle{
		ID:      id,
		Project: r.Project.Spaces.ProjectDir,
		Name:    &name,
		Waiting: &nothing,
	})
}
