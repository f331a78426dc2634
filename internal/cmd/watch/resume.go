package watch

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
)

// ResumeOptions are the flags of rye threads resume.
type ResumeOptions struct {
	ThreadOptions
	AcceptChanged, Locked bool
}

func ResumeThread(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id string,
	o *ResumeOptions,
) error {
	opts := &threadhost.Options{
		Held:          policy.Person(),
		Limits:        o.Limits,
		Message:       o.Message,
		AcceptChanged: o.AcceptChanged,
		NoSuspend:     o.NoSuspend,
		Ask:           ask.AboutRisk(c),
		Decide:        ask.AboutCall(c),
		Answer:        ask.AboutThread(c),
	}
	var err error
	if opts.Attach, err = o.Attachments(c); err != nil {
		return err
	}
	return ContinueThread(ctx, c, p, id, opts, o.Events)
}

// ContinueThread continues a thread, or a completed one in a new thread, and shows it.
func ContinueThread(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id string,
	opts *threadhost.Options,
	events bool,
) error {
	show := NewWatcher(c, p, events)
	defer show.stop()
	opts.Observe = show.Line
	opts.Started = show.Started
	r, err := threadhost.ContinueOrFollow(ctx, p, id, opts)
	return show.End(r, err)
}

// DecideThread answers the question of a thread, about a call or whether it may continue, and
// reports whether the id belongs to a thread. A suspended thread that may continue is
// continued here.
func DecideThread(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	id, call, prefix string,
	r threads.Reply,
) (isThread bool, err error) {
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if open, err := threads.OpenQuestions(p.Spaces.ProjectDir, id); err != nil || len(open) > 0 {
		if err != nil {
			return true, err
		}
		q, continues, err := control.DecideCall(ctx, p, id, call, r, prefix)
		if q != nil {
			c.UI.Note("%s: %s", r.Decision, q.Question)
		}
		if err != nil || !continues {
			return true, err
		}
		return true, ResumeThread(ctx, c, p, id, &ResumeOptions{})
	}
	if s.Suspended == nil || s.Suspended.Ask == nil {
		return true, diag.New(diag.ThreadState, "answering %s: it asks nothing", id).
			WithReason("thread_no_question").
			WithDetail("id", id)
	}
	if r.Decision != threads.Deny {
		return true, ResumeThread(ctx, c, p, id, &ResumeOptions{})
	}
	res, err := control.Decline(ctx, p, id)
	if res == nil {
		return true, err
	}
	return true, c.UI.Show(res, func() {
		c.UI.Out("%s %s", id, res.Status)
	})
}
