package threadhost

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/transcript"
)

// Resume continues a thread at the step in flight.
func Resume(
	ctx context.Context,
	p *project.Project,
	id string,
	o *Options,
) (*threads.Result, error) {
	pending, err := pendingNext(p, id)
	if err != nil {
		return nil, err
	}
	id = control.EndOfChain(p, id)
	s, err := threads.ReadStarted(p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	if s.Parent != "" && o.Below == nil {
		return nil, diag.New(diag.ThreadState, "resuming %s: a node of the run %s started it, and that run continues it", id, s.Parent).
			WithReason("below_run").WithDetail("run_id", s.Parent)
	}
	if s.Replay != "" {
		// The rest would be answered by a model, after turns that none has answered.
		return nil, diag.New(diag.ThreadState, "resuming %s: it is a replay of %s; replay that thread again", id, s.Replay)
	}
	if p, err = copies.InCopyOf(p, id, s); err != nil {
		return nil, err
	}
	ref, err := item.ParseRef(s.Directive.Ref, item.Directive)
	if err != nil {
		return nil, diag.New(diag.TranscriptBroken, "resuming %s: %w", id, err)
	}
	o.Ref = ref
	o.Params = s.Inputs
	o.Interactive = s.Interactive
	if o.Child = s.Spawned; o.Child != nil { // what its caller had applies to its loop and hooks, too
		for _, g := range s.Held {
			if g.Source != s.Directive.Ref+" "+s.Directive.Digest.String() {
				o.Held = o.Held.With(g)
			}
		}
		s.Held = nil
	}
	if o.Model == "" {
		o.Model = s.Model
		o.Provider = s.Provider
	}
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return nil, err
	}
	changes, err := changes(ctx, p, id, s, prepared, o)
	if err != nil {
		return nil, err
	}
	if prepared.Limits, err = resumedLimits(ctx, p, s.Limits, o.Limits); err != nil {
		return nil, err
	}
	if o.Below != nil {
		prepared.Limits.Spend = s.Limits.Spend // what the run reserved for it
	}
	// Resuming a thread does not widen it: what it was started with applies, too.
	for _, g := range s.Held {
		prepared.Held = prepared.Held.With(g)
	}
	o.Decide, o.Ask = oneQuestion(o.Decide, o.Ask)
	r := &Run{
		Prepared: prepared,
		Project:  p,
		Options:  o,
		id:       id,
		carried:  s.Carried,
		again:    true,
		changes:  changes,
	}
	r.attachments = s.Attachments
	if r.attached, err = attachedNow(ctx, r); err != nil {
		return nil, err
	}
	if pending != nil { // its process was stopped before the next thread had a log
		r.id = pending.Next
		r.carried = pending.Carried
		r.again = false
		return r.end(ctx)(r.followed(ctx))
	}
	params, err := r.params(ctx)
	if err != nil {
		return nil, err
	}
	text := o.Message
	if o.handOff {
		// the next thread reads it
		r.again = false
		text = ""
		params.Loop = func(_ context.Context, t *threads.Thread, _ *transcript.Log, _ []transcript.Line) error {
			t.Ends(threads.Ending{State: threads.Continued})
			return nil
		}
	}
	if o.Started != nil {
		o.Started(prepared, id)
	}
	// Two processes can have asked it to stop, and the second one after it had stopped.
	if graph.Owner(ctx, p.Spaces.ProjectDir, id) < 0 {
		if err := graph.Cancelled(p.Spaces.ProjectDir, id); err != nil {
			return nil, err
		}
	}
	res, err := threads.Resume(ctx, id, params, text)
	return r.end(ctx)(r.follow(ctx, res, err))
}

// changes returns the changes of the directive, the loop and the steps since a thread started.
// It is an error if the person did not accept them and no upgrade of rye made them.
func changes(
	ctx context.Context,
	p *project.Project,
	id string,
	s *threads.Started,
	now *prepare.Prepared,
	o *Options,
) ([]transcript.Change, error) {
	loopSteps, err := LoopSteps(ctx, p, now.Loop)
	if err != nil {
		return nil, err
	}
	was := append([]threads.Identity{s.Directive, s.Loop}, s.Steps...)
	is := append(
		[]threads.Identity{prepare.IdentityOf(now.Item), prepare.IdentityOf(now.Loop)},
		loopSteps...,
	)
	var out []transcript.Change
	for _, w := range was {
		i := slices.IndexFunc(is, func(x threads.Identity) bool {
			return x.Ref == w.Ref
		})
		if i < 0 {
			continue // the loop does not call it any more
		}
		c, same := transcript.Changed(
			w.Ref,
			w.Digest,
			is[i].Digest,
			w.Space,
			is[i].Space,
		)
		if !same {
			out = append(out, c)
		}
	}
	accepted := o.AcceptChanged && !p.Env.Locked
	if err := transcript.Unaccepted(id, "thread", out); err != nil && !accepted {
		return nil, err.WithReason("thread_changed")
	}
	return out, nil
}

// resumedLimits returns the limits that a thread had, or those that a person gives it,
// within the allowance.
func resumedLimits(
	ctx context.Context,
	p *project.Project,
	l threads.Limits,
	flags []string,
) (threads.Limits, error) {
	if err := prepare.SetLimits(&l, flags); err != nil {
		return l, err
	}
	return prepare.WithinAllowance(ctx, p, l)
}
