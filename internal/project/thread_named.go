package project

import (
	"context"
	"encoding/json"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/handle"
	"github.com/ryeos/rye/threads/store"
)

// name returns the name of a thread, without the values of keys: the registry has no text that
// its log does not have.
func (r *PreparedThread) name(p *Project) string {
	b, err := jsonx.Marshal(r.Inputs)
	if err != nil {
		return ""
	}
	var inputs map[string]any
	if json.Unmarshal(p.redactor(r.keys).Bytes(b), &inputs) != nil {
		return ""
	}
	return handle.Name(inputs)
}

// number returns the number of the thread: the registry has it since it has the account, but
// for one that continues another one.
func (r *threadRun) number(ctx context.Context, id string) (int64, error) {
	return r.numberIn(ctx, r.money, id)
}

func (r *threadRun) numberIn(ctx context.Context, money *threadAccount, id string) (int64, error) {
	if money == nil {
		return 0, nil // a replay has no account
	}
	name, nothing := r.name(r.p), ""
	return money.Number(ctx, store.Handle{ID: id, Project: r.p.Spaces.ProjectDir, Name: &name, Waiting: &nothing})
}
