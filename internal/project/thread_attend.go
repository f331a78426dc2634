package project

import (
	"context"
	"strings"

	"github.com/ryeos/rye/threads"
)

// FollowDirective runs a directive with a model. What a suspended thread asks is asked in
// place if a person is present: the thread then goes on, or ends. A limit is not raised by a
// yes: the thread stays suspended until the person states another one.
func (p *Project) FollowDirective(ctx context.Context, o *ThreadOptions) (*threads.Result, error) {
	r, err := p.StartThread(ctx, o)
	return p.attend(ctx, r, err, o)
}

// ContinueThread continues a thread as FollowDirective.
func (p *Project) ContinueThread(ctx context.Context, id string, o *ThreadOptions) (*threads.Result, error) {
	r, err := p.ResumeThread(ctx, id, o)
	return p.attend(ctx, r, err, o)
}

func (p *Project) attend(ctx context.Context, r *threads.Result, err error, o *ThreadOptions) (*threads.Result, error) {
	for err == nil && o.Answer != nil && r.Status == threads.Suspended && r.Suspended.Ask != nil && r.Suspended.Ask.Limit == "" && r.Suspended.Reason != threads.ByApproval {
		switch answer, aerr := o.Answer(ctx, r.ThreadID, r.Suspended.Ask.Question); {
		case aerr != nil || !strings.EqualFold(answer, "yes") && !strings.EqualFold(answer, "no"):
			return r, nil // it stays suspended
		case strings.EqualFold(answer, "no"):
			return p.DeclineThread(ctx, r.ThreadID)
		}
		next := *o
		next.Message, next.Limits, next.Started = "", nil, nil
		r, err = p.ResumeThread(ctx, r.ThreadID, &next)
	}
	return r, err
}
