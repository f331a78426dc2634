package tree

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/threadhost"
)

// diff returns the changes of a thread in its working copy.
func (o orchestration) diff(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	stat, _ := o.in.Parameters["stat"].(bool)
	return copies.DiffOf(ctx, o.p, id, stat)
}

// apply brings what a thread changed to where the caller works: to the project, or to the
// working copy of the caller.
// It writes where the caller works: a thread in a copy would else write to the project, which no
// person has confirmed. The call is decided as one of the tier T2.
func (o orchestration) apply(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	check, _ := o.in.Parameters["check"].(bool)
	if !check {
		if err := o.mayWrite(ctx, id); err != nil {
			return nil, err
		}
	}
	done, err := copies.Apply(
		ctx, o.p,
		id,
		o.list("paths"),
		check,
		graphhost.IsPerson(o.in.Call),
	)
	if err != nil {
		return nil, err
	}
	return map[string]any{"thread_id": id, "applied": done.Changes, "withheld": done.Withheld}, nil
}

// mayWrite returns nil if the caller may write files of the project: it holds the capability
// for the file tool that does, and the allowance permits the tier of that tool.
func (o orchestration) mayWrite(ctx context.Context, id string) error {
	if graphhost.IsPerson(o.in.Call) {
		return nil
	}
	err := o.in.Held.Allows(policy.Execute, item.Ref{Kind: item.Tool, ID: "rye/file-system/write"})
	if err != nil {
		return err
	}
	r := threadhost.Spawner(o.p, o.in.Call)
	below := r != nil && r.Options.Child != nil
	return graphhost.MayAs(ctx, o.p, o.in, policy.Call{Rating: policy.Rating{Class: policy.T2, Tier: policy.T2, Why: "it writes files of the project"}, Enforced: true, Child: below},
		"Apply the working copy of the thread "+id+"?",
		diag.New(diag.ApprovalRequired, "applying the working copy of %s: a person decides about it, and rye cannot ask one here", id).WithDetail("id", id))
}

// drop removes the working copy of a thread. A call that a stopped process made has done it.
func (o orchestration) drop(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	_, err = copies.Drop(ctx, o.p, id)
	e := diag.Typed(err)
	if err != nil && !(o.in.Again && e.Reason == "no_copy") {
		return nil, err
	}
	return map[string]any{"thread_id": id, "dropped": true}, nil
}
