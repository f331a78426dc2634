package graphhost

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
)

// ReplyOf returns the reply of a person who was asked a question of yes or no.
func ReplyOf(yes bool, err error) (threads.Reply, error) {
	if yes {
		return threads.Reply{Decision: threads.Once, By: "person"}, err
	}
	return threads.Reply{Decision: threads.Deny, By: "person"}, err
}

// Confirm asks a person about a call: q needs no Ask and no OfNode. A thread records the question and the answer.
// The reply is nil if no person can be asked now.
func Confirm(
	ctx context.Context,
	p *project.Project,
	call exec.Call,
	q project.CallQuestion,
) (*threads.Reply, error) {
	q.Ask = call.Ask
	q.OfNode = OfNode(p)
	if person := project.PersonOf(p, call); person != nil {
		return person(ctx, q)
	}
	within := ctx
	cancel := func() {}
	if limit := q.Recorded.Timeout; limit > 0 {
		within, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	yes, err := q.Ask(within, q.Shown)
	if ctx.Err() == nil && within.Err() != nil {
		return &threads.Reply{Decision: threads.Deny, By: threads.ByTimeout}, nil
	}
	r, err := ReplyOf(yes, err)
	return &r, err
}
