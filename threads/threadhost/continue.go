package threadhost

import (
	"context"
	"errors"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/settings"
)

// goesOn names the thread that continues, with a summary of the conversation. If no summary
// can be made, its model reads why, and the newest turns.
func (r *Run) goesOn(ctx context.Context, t *threads.Thread) (*threads.Next, error) {
	cfg, err := settings.Coordination(ctx, r.Project.Resolver)
	if err != nil {
		return nil, err
	}
	next := &threads.Next{ID: graph.NewID(
		r.Item.Ref.ID,
		r.Project.Env.Now(),
	), Turns: cfg.CarryTokens}
	if window := t.Used().Window; window > 0 { // a small window would be full again
		next.Turns = min(next.Turns, int64(cfg.Compaction.TailShare*float64(window)))
	}
	s, err := r.summarize(ctx, t, &cfg, 0, next.Turns)
	if err != nil {
		return nil, err
	}
	next.Text = s.text
	next.Threads = s.threads
	next.Spend = s.spend
	next.Failed = s.failed != ""
	if !next.Failed {
		next.Tokens = compact.Tokens(s.summary)
	}
	return next, nil
}

// follow runs the continuing threads, each in this process, until one of them ends or is
// suspended.
func (r *Run) follow(
	ctx context.Context,
	res *threads.Result,
	err error,
) (*threads.Result, error) {
	for err == nil && res.Status == threads.Continued {
		o := *r.Options
		if r.again {
			o.Message = "" // it is a part of the conversation
		}
		next := &Run{
			Prepared:    r.Prepared,
			Project:     r.Project,
			Options:     &o,
			id:          res.ContinuedBy,
			Account:     r.Account,
			carried:     res.Carried(),
			attachments: withoutData(r.attachments),
		}
		r = next
		res, err = r.start(ctx)
	}
	return res, err
}

// followed starts the thread and the threads that continue it.
func (r *Run) followed(ctx context.Context) (*threads.Result, error) {
	res, err := r.start(ctx)
	return r.follow(ctx, res, err)
}

// start begins a thread that continues the ended thread of its chain.
func (r *Run) start(ctx context.Context) (*threads.Result, error) {
	params, err := r.params(ctx)
	if err != nil {
		if r.Account != nil {
			err = errors.Join(err, r.Account.Release(
				context.WithoutCancel(ctx),
				threads.Failed,
				string(diag.CodeOf(err)),
			))
		}
		return nil, err
	}
	if r.Options.Started != nil {
		p := *r.Prepared
		p.Before = r.carried.Cost
		r.Options.Started(&p, r.id)
	}
	return threads.Start(ctx, r.id, params)
}

// pendingNext returns the thread that continues the last one of a chain and has no log yet: its
// process was stopped. It is nil if there is none.
func pendingNext(p *project.Project, id string) (*threads.Link, error) {
	links, err := threads.Chain(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	last := links[len(links)-1]
	if last.Next != "" && last.Carried != nil {
		return &last, nil
	}
	return nil, nil
}

// HandsOff returns the last thread of a chain, if a new thread can continue its work.
func HandsOff(p *project.Project, id string) (string, error) {
	links, err := control.Chain(p, id)
	if err != nil {
		return "", err
	}
	last := links[len(links)-1]
	switch {
	case last.Next == "" && (last.Turns == 0 || len(links) > 1 && last.Turns == links[len(links)-2].Turns):
		return "", diag.New(diag.ThreadState, "handing off %s: its model has not answered yet", last.ID).
			WithReason("ended").
			WithDetail("state", last.State)
	case !slices.Contains([]string{threads.Suspended, threads.Failed, threads.Cancelled, threads.Killed, threads.Running}, last.State):
		return "", diag.New(diag.ThreadState, "handing off %s: it is %s", last.ID, last.State).
			WithReason("ended").
			WithDetail("state", last.State)
	}
	return last.ID, nil
}

// HandOff ends a thread that no process runs and starts a new one that continues its work.
func HandOff(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (*threads.Result, error) {
	last, err := HandsOff(p, id)
	if err != nil {
		return nil, err
	}
	o.handOff = true
	return Continue(ctx, p, last, o)
}
