package graph

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
)

// commit renders assign, chooses the next node, and records both in one line.
func (w *walker) commit(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	out *outcome,
	began time.Time,
) error {
	assign := map[string]any{}
	maps.Copy(assign, out.extra)
	more := map[string]any{"result": out.result}
	for _, k := range slices.Sorted(maps.Keys(n.Assign)) {
		v, err := w.render(
			n.Assign[k],
			w.scope(f, pr.step, more),
		)
		if err != nil {
			return diag.New(diag.CodeOf(err), "assigning %s: %w", k, err)
		}
		assign[k] = v
	}
	state := w.view(f)
	if len(assign) > 0 {
		state = cloneMap(state)
		maps.Copy(state, assign)
		if err := w.g.CheckState(state, "the state after assign"); err != nil {
			return err
		}
	}
	scope := w.scope(f, pr.step, more)
	scope["state"] = state
	next, err := choose(n.Next, scope)
	if err != nil {
		return err
	}
	data := committedData{
		Node:     f.prefix + n.Name,
		Step:     pr.step,
		Assign:   assign,
		Next:     next,
		Duration: w.p.Now().Sub(began).Milliseconds(),
		Cached:   out.cached,
	}
	if out.isEnd {
		data.Output = out.output
		data.Fail = n.Fail
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if context.Cause(ctx) == errBlockEnded {
		return ctx.Err()
	}
	joined := !out.pure && w.joins(f, next)
	err = w.record(ctx, evCommitted, data, out.pure || joined)
	if err != nil {
		return fatal{err}
	}
	w.owed = w.owed || joined
	w.apply(f, n.Type, &data)
	return nil
}

// apply changes a frame as a committed line states. The log's reader does the same.
func (w *walker) apply(f *frame, _ string, d *committedData) {
	maps.Copy(f.assigned, d.Assign)
	f.cur = d.Next
	if d.Output != nil || d.Fail {
		f.output = d.Output
		f.fail = d.Fail
	}
	w.forget(d.Node)
}

// forget drops what is recorded about a node in flight and its branches.
func (w *walker) forget(name string) {
	delete(w.nodes, name)
	maps.DeleteFunc(w.approvals, func(q string, _ *approval) bool {
		return isAbout(q, name)
	})
	for prefix := range w.frames {
		if strings.HasPrefix(prefix, name+".") {
			delete(w.frames, prefix)
		}
	}
	for q := range w.nodes {
		if strings.HasPrefix(q, name+".") {
			delete(w.nodes, q)
		}
	}
}

// failed records a failure and takes the error edge, or returns the error.
func (w *walker) failed(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	cause error,
	duration time.Duration,
) error {
	name := f.prefix + n.Name
	e := nodeError(name, cause)
	d := failedData{
		Node:    name,
		Step:    w.stepOf(pr),
		Error:   e,
		Attempt: 1,
		Edge:    "fail",
	}
	switch {
	case n.OnError != "":
		d.Edge = "on_error"
		d.Next = n.OnError
	case w.g.Continue:
		scope := w.scope(f, d.Step, nil)
		if next, err := choose(n.Next, scope); err == nil { // else no edge is known
			d.Edge = "continue"
			d.Next = next
		}
	}
	w.report(name, d.Step, "failed", string(e.Code)+": "+e.Message, duration)
	w.mu.Lock()
	err := w.log.Commit(ctx, evFailed, d)
	if err == nil {
		w.applyFailed(f, &d)
	}
	w.mu.Unlock()
	if err != nil {
		return fatal{err}
	}
	err = w.hooks(ctx, "node_failed", map[string]any{"node": name, "error": e.value()})
	if err != nil {
		return err
	}
	if d.Edge == "fail" {
		return cause
	}
	if f.base == nil {
		w.snapshot(ctx, StateRunning, n.Name, false)
	}
	return nil
}

// applyFailed changes a frame as a failed line states.
func (w *walker) applyFailed(f *frame, d *failedData) {
	if d.Edge == "retry" {
		return
	}
	w.forget(d.Node)
	switch d.Edge {
	case "on_error":
		f.cur, f.err = d.Next, d.Error.value()
	case "continue":
		w.errors = append(w.errors, d.Error)
		f.cur, f.err = d.Next, d.Error.value()
	}
}

func nodeError(name string, err error) NodeError {
	t := diag.Typed(err)
	e := NodeError{
		Node:      name,
		Code:      t.Code,
		Message:   t.Error(),
		Retryable: t.Retryable,
	}
	d, ok := t.Details["data"].(map[string]any)
	if ok {
		e.Details = d
	}
	if part, ok := err.(*partError); ok { // not one of a graph that the node called
		e.Item = part.item
		e.Branch = part.branch
	}
	return e
}
