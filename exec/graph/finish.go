package graph

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/threads/transcript"
)

// finish records the end of a run, or its suspension.
func (w *walker) finish(ctx context.Context, err error) (*Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The end is recorded although the caller has cancelled.
	ctx = context.WithoutCancel(ctx)
	r := &Result{RunID: w.log.ID(), Steps: w.step, Errors: w.errors}
	if r.Errors == nil {
		r.Errors = []NodeError{}
	}
	r.Cost.Duration = (w.active + w.p.Now().Sub(w.began)).Milliseconds()
	var s *Suspension
	switch {
	case errors.As(err, &s) && w.p.NoSuspend:
		err = diag.New(
			diag.ApprovalRequired,
			"running %s: it would suspend (%s %s), which this call does not permit",
			w.g.Ref,
			s.Reason,
			strings.Join(s.Nodes, ", "),
		)
	case errors.As(err, &s):
		return r, w.suspend(ctx, r, s)
	case errors.Is(err, context.Canceled) || diag.CodeOf(err) == diag.Cancelled:
		r.Status = StateCancelled
		err = diag.New(diag.Cancelled, "running %s: cancelled; the run %s can be resumed", w.g.Ref, r.RunID).
			WithReason("graph_resume").
			WithDetail("run_id", r.RunID)
		// The request has its effect: it must not cancel the process that resumes the run.
		err = errors.Join(
			w.rest(ctx, evCancelled, r, nil),
			w.taken("cancel", ""),
			err,
		)
		w.snapshot(ctx, r.Status, w.root.cur, true)
		return r, err
	}
	if err == nil {
		r.Output = w.root.output
		if r.Output == nil {
			r.Output = map[string]any(w.root.assigned)
		}
		if w.root.fail {
			err = diag.New(diag.ExecutionFailed, "running %s: the graph ended with status fail", w.g.Ref).WithDetail("output", r.Output)
		}
	}
	if err == nil {
		r.Status = StateCompleted
		err = w.rest(ctx, evCompleted, r, nil)
		w.snapshot(ctx, r.Status, w.last(), true)
		w.completed(ctx)
		return r, err
	}
	r.Status = StateError
	t := diag.Typed(err)
	if w.root.fail {
		t = t.WithDetail("run_id", r.RunID)
	} else {
		t = diag.Doing("running "+w.g.Ref.String(), err).
			WithDetail("run_id", r.RunID)
	}
	e := nodeError(w.root.cur, err)
	rest := w.rest(ctx, evError, r, &e)
	if rest != nil {
		return r, rest
	}
	w.snapshot(ctx, r.Status, e.Node, true)
	w.completed(ctx)
	return r, t
}

// last returns the node that started last.
func (w *walker) last() string {
	if len(w.recent) == 0 {
		return ""
	}
	return w.recent[len(w.recent)-1]
}

// rest writes the last line, its checkpoint and the result.
func (w *walker) rest(ctx context.Context, event string, r *Result, e *NodeError) error {
	settled := w.settle(ctx, r)
	d := endData{
		Output: r.Output,
		Errors: w.errors,
		Error:  e,
		Steps:  r.Steps,
		Cost:   r.Cost,
	}
	if w.p.Log != nil {
		return w.log.Commit(ctx, event, d) // the thread ends or suspends after its own last event
	}
	if err := w.log.Rest(ctx, event, d); err != nil {
		return errors.Join(err, settled)
	}
	return errors.Join(w.writeResult(r), settled)
}

// settle closes the account of the run, and states in its result what its threads cost.
// It comes before the last line of the log: a run that is stopped between the two is
// resumed, and opens its account again.
func (w *walker) settle(ctx context.Context, r *Result) (err error) {
	if w.p.Settle != nil {
		r.Cost.Spend, err = w.p.Settle(ctx, r.Status)
	}
	return err
}

func (w *walker) writeResult(r *Result) error {
	if w.p.Log != nil {
		return nil // the thread has the result
	}
	b, err := jsonx.Marshal(r)
	if err != nil {
		return diag.New(diag.Internal, "writing the result of %s: %w", r.RunID, err)
	}
	return transcript.Base(w.p.Project, r.RunID).Replace(resultFile, append(b, '\n'), 0o600)
}

// ReadResult returns the result of a run that has ended.
func ReadResult(project, id string) (*Result, error) {
	b, _, err := openat.Read(project, transcript.Dir+"/"+id+"/"+resultFile, maxResult)
	if err != nil {
		return nil, diag.Doing("reading the result of "+id, err)
	}
	r := &Result{}
	err = jsonx.Decode(b, r)
	if err != nil || r.RunID != id {
		return nil, diag.New(diag.TranscriptBroken, "reading the result of %s: it is not the result of a run", id)
	}
	return r, nil
}

const (
	resultFile = "result.json"
	maxResult  = 64 << 20
)

// completed runs the hooks of the end, whose results are ignored.
func (w *walker) completed(ctx context.Context) {
	w.mu.Unlock()
	_ = w.hooks(ctx, "graph_completed", nil)
	w.mu.Lock()
}

func (w *walker) suspend(ctx context.Context, r *Result, s *Suspension) error {
	r.Status = StateSuspended
	r.Reason = s.Reason
	r.Waiting = s.Nodes
	r.Child = s.Child
	r.Suspended = s
	d := suspendedData{Reason: s.Reason, Nodes: s.Nodes, Child: s.Child}
	if !s.WakeAt.IsZero() {
		d.WakeAt = s.WakeAt.UTC().Format(time.RFC3339)
		r.WakeAt = d.WakeAt
	}
	s.Questions = w.openQuestions(s)
	r.Questions = s.Questions
	if w.p.Child != nil {
		w.p.Child.Suspended = s
	}
	r.Output = nil
	if w.p.Log != nil {
		return nil // the thread records why it is suspended
	}
	if err := w.settle(ctx, r); err != nil {
		return err
	}
	if err := w.log.Rest(ctx, evSuspended, d); err != nil {
		return err
	}
	w.mu.Unlock()
	_ = w.hooks(ctx, "graph_suspended", map[string]any{"reason": s.Reason})
	w.mu.Lock()
	return nil
}
