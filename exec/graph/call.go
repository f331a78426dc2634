package graph

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/item"
)

// action calls the item of an action node.
func (w *walker) action(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
	return w.call(ctx, f, n.Action, invocation{
		name:  f.prefix + n.Name,
		step:  pr.step,
		index: -1,
		child: pr.child,
		key:   pr.key,
		at:    pr.at,
	})
}

// invocation is one call of a node: the node itself, an item or a branch.
type invocation struct {
	name  string
	step  int
	index int
	child string // the id of the run of a graph
	key   string
	more  map[string]any // values of templates: the item of foreach
	at    *resolved      // nil: the call resolves the item
	share *Share         // of the entries of foreach
}

// call calls an item, repeats it as the action's retry permits, and returns the data
// of its result.
func (w *walker) call(
	ctx context.Context,
	f *frame,
	a *graphdef.Action,
	in invocation,
) (*outcome, error) {
	if a.Timeout > 0 {
		within, cancel := context.WithTimeout(ctx, a.Timeout)
		defer cancel()
		out, err := w.attempts(within, f, a, in)
		if err != nil && within.Err() != nil && ctx.Err() == nil {
			var s *Suspension
			if !errors.As(err, &s) {
				err = diag.New(diag.Timeout, "it took longer than the timeout of %s", a.Timeout)
			}
		}
		return out, err
	}
	return w.attempts(ctx, f, a, in)
}

func (w *walker) attempts(
	ctx context.Context,
	f *frame,
	a *graphdef.Action,
	in invocation,
) (*outcome, error) {
	for attempt := 1; ; attempt++ {
		out, err := w.once(ctx, f, a, in)
		if err == nil ||
			attempt >= a.MaxAttempts ||
			ctx.Err() != nil ||
			!repeatable(err) {
			return out, err
		}
		in.at = nil // the item may have been repaired
		w.report(in.name, in.step, "retry", nodeError(in.name, err).Message, 0)
		w.mu.Lock()
		logged := w.log.Commit(ctx, evFailed, failedData{
			Node:    in.name,
			Step:    in.step,
			Error:   nodeError(in.name, err),
			Attempt: attempt,
			Edge:    "retry",
		})
		w.mu.Unlock()
		if logged != nil {
			return nil, fatal{logged}
		}
		err = sleep(ctx, a.Retry.Delay(attempt))
		if err != nil {
			return nil, err
		}
	}
}

// repeatable reports whether another attempt can have another result.
func repeatable(err error) bool {
	var s *Suspension
	var stop fatal
	if errors.As(err, &s) || errors.As(err, &stop) {
		return false
	}
	t := diag.Typed(err)
	switch t.Code.Class() {
	case diag.ClassRemote, diag.ClassFailed:
		return true
	}
	return t.Retryable
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// once calls the item one time.
func (w *walker) once(
	ctx context.Context,
	f *frame,
	a *graphdef.Action,
	in invocation,
) (*outcome, error) {
	if in.at == nil {
		ref, t, err := w.resolve(ctx, f, a, in.step, in.more)
		if err != nil {
			return nil, err
		}
		in.at = &resolved{ref, t}
	}
	ref := in.at.ref
	t := in.at.t
	params, err := w.params(
		ctx,
		a,
		ref,
		t,
		w.scope(f, in.step, in.more),
	)
	if err != nil {
		return nil, err
	}
	key := w.cacheKey(a, t, params)
	if key != "" {
		if result, ok := w.p.Results.Get(key); ok {
			return &outcome{
				result: result,
				pure:   t.Pure,
				cached: true,
				note:   "cached",
			}, nil
		}
	}
	c := Call{
		Verb:   a.Verb,
		Ref:    ref,
		Params: params,
		Held:   w.held,
		Key:    in.key,
		RunID:  w.log.ID(),
		Node:   in.approvalName(),
		Step:   in.step,
		Chain:  t.Chain,
	}
	if t.Graph || t.Thread {
		if w.depth == 0 {
			return nil, diag.New(diag.LimitExceeded, "calling %s: graphs call graphs and directives more than %d deep", ref, w.started.Depth).
				WithDetail("limit", "depth").WithDetail("max", w.started.Depth)
		}
		c.Child = &Child{
			Run:    w.childOf(in, ref),
			Parent: w.log.ID(),
			Depth:  w.started.Depth + 1,
			Left:   w.depth - 1,
		}
		c.Share = in.share
	}
	if !t.Graph {
		if err := w.acquire(ctx); err != nil {
			return nil, err
		}
		defer func() { <-w.slots }()
	}
	if c.Approval, err = w.approved(ctx, in); err != nil {
		return nil, err
	}
	data, err := w.p.Dispatcher.Call(ctx, c)
	if err != nil && c.Approval.Needed != nil {
		return nil, w.needsApproval(ctx, in, c.Approval.Needed)
	}
	if c.Child != nil && c.Child.Suspended != nil {
		s := *c.Child.Suspended
		return nil, &Suspension{
			Reason:    s.Reason,
			Nodes:     []string{in.name},
			WakeAt:    s.WakeAt,
			Child:     c.Child.Run,
			Questions: s.Questions,
		}
	}
	if err != nil {
		return nil, err
	}
	out := &outcome{result: data, pure: t.Pure, key: key}
	if c.Child != nil {
		out.note = c.Child.Note
	}
	return out, nil
}

// childOf returns the id of the run of a graph that the invocation calls. It is
// derived from what node_started records.
func (w *walker) childOf(in invocation, ref item.Ref) string {
	if in.index < 0 && in.more == nil {
		return in.child
	}
	id := childID(in.child, in.index)
	return nameOf(ref.ID) + id[len(id)-27:]
}

// acquire waits for one of the calls that may run at the same time.
func (w *walker) acquire(ctx context.Context) error {
	select {
	case w.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
