package tree

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
)

// by is who makes the call, as logs name it.
func (o orchestration) by(ctx context.Context) string {
	switch {
	case o.from != "":
		return "thread " + o.from
	case graphhost.IsPerson(o.in.Call):
		return "person"
	}
	return "client"
}

// interrupted returns an error for a call that a stopped process had begun, and that would
// do its work twice.
func (o orchestration) interrupted(ctx context.Context) error {
	if !o.in.Again {
		return nil
	}
	return diag.New(diag.ExecutionFailed, "%s: interrupted; it may have run", o.text("operation"))
}

// suspend suspends a thread. A thread that suspends itself is suspended after this call.
func (o orchestration) suspend(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	if o.own(id) {
		_, err := control.AskToSuspend(
			ctx,
			o.p,
			id,
			o.text("reason"),
			o.by(ctx),
		)
		return map[string]any{"thread_id": id, "state": threads.Running}, err
	}
	state, err := control.Suspend(
		ctx,
		o.p,
		id,
		o.text("reason"),
		o.by(ctx),
	)
	if err != nil {
		return nil, err
	}
	return map[string]any{"thread_id": id, "state": state}, nil
}

// resume continues a thread in a process of its own. A question that a person must answer
// is not answered by that.
func (o orchestration) resume(ctx context.Context) (any, error) {
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	last, s, err := control.Steered(o.p, id, "resuming")
	if err != nil {
		return nil, err
	}
	out := &Spawned{
		ThreadID:  last,
		State:     threads.Running,
		Directive: s.Directive.Ref,
		Limits:    s.Limits,
	}
	now, err := graph.Status(ctx, o.p.Spaces.ProjectDir, last)
	switch {
	case err != nil:
		return nil, err
	case now.State == threads.Running && o.in.Again && !o.own(id):
		out.PID = now.PID // this call has resumed it
		return out, nil
	case slices.Contains([]string{threads.Running, threads.Completed, threads.Continued}, now.State):
		return nil, diag.New(diag.ThreadState, "resuming %s: it is %s", last, now.State).
			WithReason("ended").
			WithDetail("state", now.State)
	}
	ask := suspendedFor(s)
	if ask != nil &&
		!graphhost.IsPerson(o.in.Call) &&
		(ask.To != "parent" || s.Spawned == nil || s.Spawned.By != o.from) {
		return nil, diag.New(diag.ApprovalRequired, "resuming %s: a person answers what it asks: %s", last, ask.Question).WithDetail("id", last)
	}
	out.PID, err = continueProcess(ctx, o.p, last, resumeStart{Message: o.text("message"), By: o.by(ctx)})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func suspendedFor(s *threads.Started) *threads.Ask {
	if s.Suspended == nil {
		return nil
	}
	return s.Suspended.Ask
}

// handOff starts a thread that continues the work of another. A thread that hands itself off
// is continued after this call.
func (o orchestration) handOff(ctx context.Context) (any, error) {
	if err := o.interrupted(ctx); err != nil {
		return nil, err
	}
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	if o.own(id) {
		last, _, err := control.Steered(o.p, id, "handing off")
		if err == nil {
			err = askToHandOff(o.p, last, o.text("message"), o.by(ctx))
		}
		return map[string]any{"thread_id": last, "state": threads.Running}, err
	}
	last, s, err := control.Steered(o.p, id, "handing off")
	if err != nil {
		return nil, err
	}
	ask := suspendedFor(s)
	if ask != nil && !graphhost.IsPerson(o.in.Call) {
		return nil, diag.New(diag.ApprovalRequired, "handing off %s: a person answers what it asks: %s", last, ask.Question).WithDetail("id", last)
	}
	next, err := HandOff(
		ctx,
		o.p,
		last,
		o.text("message"),
		o.by(ctx),
	)
	if err != nil {
		return nil, err
	}
	return map[string]any{"thread_id": next, "continues": last}, nil
}

// send sends an event to a thread, whose model reads it before its next turn.
func (o orchestration) send(ctx context.Context) (any, error) {
	if err := o.interrupted(ctx); err != nil {
		return nil, err
	}
	id, err := o.one(ctx)
	if err != nil {
		return nil, err
	}
	to, err := control.SendEvent(
		ctx, o.p,
		id,
		o.text("event"),
		o.in.Parameters["payload"],
		o.by(ctx),
	)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"delivered": true, "thread_id": to.ID, "state": to.State}
	if to.State == graph.StateSuspended &&
		to.Reason == "wait" &&
		graphhost.IsPerson(o.in.Call) {
		d := control.Due{ID: id} // a run that waits for the event continues
		err = control.Wake(ctx, o.p, &d)
		out["pid"] = d.PID
	}
	return out, err
}
