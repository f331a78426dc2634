package project

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/threads"
)

// AsksPerson asks about one call of a model, or of a program of a thread. ask is nil if no
// person is present.
// rests states that the thread may be suspended until a person answers.
type AsksPerson func(ctx context.Context, q *threads.Question, rests bool, ask exec.Ask) (*threads.Reply, error)

type approverKey struct{}

// WithApprover returns a context whose calls a thread asks about by a function; nil asks
// about none.
func WithApprover(ctx context.Context, person AsksPerson) context.Context {
	return context.WithValue(ctx, approverKey{}, person)
}

// approver returns the function that asks about the call that ctx belongs to, nil outside of
// threads.
func approver(ctx context.Context) AsksPerson {
	f, _ := ctx.Value(approverKey{}).(AsksPerson)
	return f
}

func ReplyOf(yes bool, err error) (threads.Reply, error) {
	if yes {
		return threads.Reply{Decision: threads.Once, By: "person"}, err
	}
	return threads.Reply{Decision: threads.Deny, By: "person"}, err
}

// Confirm asks a person about a call. A thread records the question and the answer. The reply
// is nil if no person can be asked now.
func Confirm(ctx context.Context, q *threads.Question, rests bool, ask exec.Ask) (*threads.Reply, error) {
	if person := approver(ctx); person != nil {
		return person(ctx, q, rests, ask)
	}
	within, cancel := ctx, func() {}
	if q.Timeout > 0 {
		within, cancel = context.WithTimeout(ctx, q.Timeout)
	}
	defer cancel()
	yes, err := ask(within, q.Text)
	if ctx.Err() == nil && within.Err() != nil {
		return &threads.Reply{Decision: threads.Deny, By: threads.ByTimeout}, nil
	}
	r, err := ReplyOf(yes, err)
	return &r, err
}
