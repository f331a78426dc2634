package threadhost

import (
	"context"
	"strings"

	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
)

// FollowDirective runs a directive with a model. The question of a suspended thread is asked
// here if a person is present: the thread then continues, or ends. A limit is not raised by a
// yes: the thread stays suspended until the person states a new one.
func FollowDirective(ctx context.Context, p *project.Project, o *Options) (*threads.Result, error) {
	r, err := Start(ctx, p, o)
	return attend(ctx, p, r, err, o)
}

// Continue continues a thread as FollowDirective.
func Continue(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (*threads.Result, error) {
	r, err := Resume(ctx, p, id, o)
	return attend(ctx, p, r, err, o)
}

func attend(
	ctx context.Context,
	p *project.Project,
	r *threads.Result,
	err error,
	o *Options,
) (*threads.Result, error) {
	for err == nil && o.Answer != nil && r.Status == threads.Suspended && r.Suspended.Ask != nil && r.Suspended.Ask.Limit == "" && r.Suspended.Reason != threads.ByApproval {
		switch answer, aerr := o.Answer(ctx, r.ThreadID, r.Suspended.Ask.Question); {
		case aerr != nil || !strings.EqualFold(answer, "yes") && !strings.EqualFold(answer, "no"):
			return r, nil // it stays suspended
		case strings.EqualFold(answer, "no"):
			return control.Decline(ctx, p, r.ThreadID)
		}
		next := *o
		next.Message = ""
		next.Limits = nil
		next.Started = nil
		r, err = Resume(ctx, p, r.ThreadID, &next)
	}
	return r, err
}
