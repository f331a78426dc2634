package graph

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/tree"
)

// foreach calls an item for each entry of a list. Each finished entry is recorded by
// itself, and the results are in the order of the list.
func (w *walker) foreach(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
	v, err := w.render(n.Over, w.scope(f, pr.step, nil))
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, diag.New(diag.ValidationFailed, "over is %s, not a list", tree.TypeName(v))
	}
	workers := 1
	if n.Parallel {
		workers = w.g.MaxConcurrency
		if n.MaxConcurrency > 0 {
			workers = min(workers, n.MaxConcurrency)
		}
	}
	var stop, suspended error
	var todo []int
	for i := range list {
		switch d := w.item(pr, i); {
		case d == nil:
			todo = append(todo, i)
		case d.Error != nil && !n.CollectErrors && stop == nil:
			stop = itemError(d)
		}
	}
	if stop == nil {
		stop, suspended = w.items(ctx, f, n, pr, list, todo, workers)
	}
	switch {
	case stop != nil:
		return nil, stop
	case suspended != nil:
		return nil, suspended
	}
	return w.collected(n, pr, len(list)), nil
}

func (w *walker) item(pr *progress, i int) *itemData {
	w.mu.Lock()
	defer w.mu.Unlock()
	return pr.items[i]
}

// items runs the entries that have no result. stop is the first error that ends the
// node: no new entries start, those in flight end.
func (w *walker) items(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	list []any,
	todo []int,
	workers int,
) (stop, suspended error) {
	var mu sync.Mutex
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if stop != nil || next == len(todo) || ctx.Err() != nil {
			return 0, false
		}
		next++
		return todo[next-1], true
	}
	share := &Share{Of: len(todo)}
	var all sync.WaitGroup
	for range min(workers, len(todo)) {
		all.Go(func() {
			for {
				i, ok := take()
				if !ok {
					return
				}
				err := w.oneItem(
					ctx,
					f,
					n,
					pr,
					i,
					list,
					share,
					min(workers, len(list)),
				)
				mu.Lock()
				var s *Suspension
				switch {
				case err == nil:
				case errors.As(err, &s):
					suspended = err
				case stop == nil:
					stop = err
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if stop == nil {
		stop = ctx.Err()
	}
	return stop, suspended
}

// oneItem calls the item for one entry and records the result.
func (w *walker) oneItem(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	i int,
	list []any,
	share *Share,
	atOnce int,
) error {
	name := f.prefix + n.Name
	in := invocation{
		name:  name,
		step:  pr.step,
		index: i,
		child: pr.child,
		key:   w.key(name, pr.step, i),
		more:  map[string]any{n.As: list[i]},
		at:    pr.at,
		share: share,
	}
	out, err := w.call(ctx, f, n.Action, in)
	var s *Suspension
	var fail fatal
	if errors.As(err, &s) ||
		errors.As(err, &fail) ||
		ctx.Err() != nil && err != nil {
		return err
	}
	d := &itemData{
		Node:   name,
		Index:  i,
		Of:     len(list),
		AtOnce: atOnce,
	}
	if err != nil {
		e := nodeError(name, err)
		e.Item = &i
		d.Error = &e
	} else {
		d.Result = out.result
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.Commit(ctx, evItem, d); err != nil {
		return fatal{err}
	}
	pr.items[i] = d
	w.reportItem(name, pr, d)
	if d.Error != nil && !n.CollectErrors {
		return itemError(d)
	}
	return nil
}

// itemError returns a recorded failure of an entry as an error.
func itemError(d *itemData) error {
	e := diag.New(d.Error.Code, "item %d: %s", d.Index, d.Error.Message)
	e.Retryable = d.Error.Retryable
	return &partError{error: e, item: &d.Index}
}

// partError is the error of a node with the entry or the branch that failed.
type partError struct {
	error
	item   *int
	branch string
}

// Unwrap returns the error.
func (e *partError) Unwrap() error {
	return e.error
}

func (w *walker) collected(n *graphdef.Node, pr *progress, count int) *outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	results := make([]any, count)
	failures := []any{}
	for i := range results {
		d := pr.items[i]
		results[i] = d.Result
		if d.Error != nil {
			failures = append(failures, map[string]any{"index": int64(i), "code": string(d.Error.Code), "message": d.Error.Message})
		}
	}
	out := &outcome{result: map[string]any{"items": results, "errors": failures}}
	if n.Collect != "" {
		out.extra = map[string]any{n.Collect: results}
	}
	return out
}

// parallel runs branches at the same time. Each sees the state as it was at the start
// of the node and its own assignments.
func (w *walker) parallel(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
	within, end := context.WithCancelCause(ctx)
	defer end(nil)
	cancel := func() { end(errBlockEnded) }
	base := w.view(f)
	var mu sync.Mutex
	var failure, suspended, stop error
	succeeded := 0
	settle := func(d *branchData, err error) {
		mu.Lock()
		defer mu.Unlock()
		var s *Suspension
		var fail fatal
		switch {
		case errors.As(err, &s):
			suspended = err
		case errors.As(err, &fail):
			stop = err
			cancel()
		case err != nil: // cancelled
		case d.Error == nil:
			if succeeded++; succeeded == n.Join {
				cancel()
			}
		case !n.CollectErrors && failure == nil && succeeded < n.Join:
			failure = branchError(d)
			cancel()
		}
	}
	workers := w.g.MaxConcurrency
	if n.MaxConcurrency > 0 {
		workers = min(workers, n.MaxConcurrency)
	}
	for _, b := range n.Branches {
		if d := w.branchOf(pr, b.Name); d != nil {
			settle(d, nil)
		}
	}
	free := make(chan struct{}, workers)
	var all sync.WaitGroup
	for _, b := range n.Branches { // they start in the order of the file
		if w.branchOf(pr, b.Name) != nil {
			continue
		}
		select {
		case free <- struct{}{}:
		case <-within.Done():
			continue
		}
		all.Go(func() {
			defer func() { <-free }()
			settle(w.branch(within, f, n, pr, b, base))
		})
	}
	all.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case stop != nil:
		return nil, stop
	case failure != nil:
		return nil, failure
	case succeeded >= n.Join:
	case suspended != nil:
		return nil, suspended
	case n.Join < len(n.Branches):
		return nil, diag.New(diag.ExecutionFailed, "%d of %d branches succeeded, and join needs %d", succeeded, len(n.Branches), n.Join)
	}
	return w.joined(n, pr), nil
}

// errBlockEnded is the cause of a context of branches whose results are not needed any
// more. A run that is stopped has another cause: it keeps what has finished.
var errBlockEnded = errors.New("another branch ended the block")

func (w *walker) branchOf(pr *progress, name string) *branchData {
	w.mu.Lock()
	defer w.mu.Unlock()
	return pr.branches[name]
}

func branchError(d *branchData) error {
	e := diag.New(d.Error.Code, "branch %s: %s", d.Branch, d.Error.Message)
	e.Retryable = d.Error.Retryable
	return &partError{error: e, branch: d.Branch}
}

// joined merges the branches in the order of the file.
func (w *walker) joined(n *graphdef.Node, pr *progress) *outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	result := map[string]any{}
	failures := []any{}
	extra := map[string]any{}
	for _, b := range n.Branches {
		d := pr.branches[b.Name]
		result[b.Name] = nil
		if d == nil {
			continue
		}
		if d.Error != nil {
			failures = append(failures, map[string]any{"branch": b.Name, "code": string(d.Error.Code), "message": d.Error.Message})
			continue
		}
		result[b.Name] = d.Result
		maps.Copy(extra, d.Assign)
	}
	result["errors"] = failures
	return &outcome{result: result, extra: extra}
}

// branch runs one branch and records its end.
func (w *walker) branch(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	b *graphdef.Branch,
	base map[string]any,
) (*branchData, error) {
	name := f.prefix + n.Name
	prefix := name + "." + b.Name + "."
	d := &branchData{Node: name, Branch: b.Name, Assign: map[string]any{}}
	began := w.p.Now()
	var err error
	if b.Nodes != nil {
		err = w.block(ctx, f, b, prefix, base, d)
	} else {
		err = w.single(ctx, f, n, pr, b, base, d)
	}
	var s *Suspension
	var fail fatal
	if errors.As(err, &s) ||
		errors.As(err, &fail) ||
		ctx.Err() != nil && err != nil ||
		context.Cause(ctx) == errBlockEnded {
		return nil, errors.Join(err, ctx.Err())
	}
	status := "ok"
	text := ""
	if err != nil {
		e := nodeError(name, err)
		e.Branch = b.Name
		d.Error = &e
		d.Assign = map[string]any{}
		d.Result = nil
		status = "failed"
		text = string(e.Code) + ": " + e.Message
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.Commit(ctx, evBranch, d); err != nil {
		return nil, fatal{err}
	}
	pr.branches[b.Name] = d
	w.report(
		name+"."+b.Name,
		pr.step,
		status,
		text,
		w.p.Now().Sub(began),
	)
	return d, nil
}

// single runs a branch that is one action.
func (w *walker) single(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	b *graphdef.Branch,
	base map[string]any,
	d *branchData,
) error {
	name := f.prefix + n.Name
	index := slices.Index(n.Branches, b)
	inner := &frame{
		prefix:   f.prefix,
		base:     base,
		assigned: map[string]any{},
		err:      f.err,
	}
	in := invocation{
		name:  name + "." + b.Name,
		step:  pr.step,
		index: index,
		child: pr.child,
		key:   w.key(name+"."+b.Name, pr.step, index),
		more:  map[string]any{},
	}
	if err := w.count(in.name); err != nil {
		return err
	}
	out, err := w.call(ctx, inner, b.Action, in)
	if err != nil {
		return err
	}
	d.Result = out.result
	for _, k := range slices.Sorted(maps.Keys(b.Assign)) {
		if d.Assign[k], err = w.render(b.Assign[k], w.scope(inner, pr.step, map[string]any{"result": out.result})); err != nil {
			return diag.New(diag.CodeOf(err), "assigning %s: %w", k, err)
		}
	}
	maps.Copy(inner.assigned, d.Assign)
	return w.g.CheckState(w.view(inner), "the state after assign")
}

// count counts a branch that is one action as a started node.
func (w *walker) count(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes[name] != nil {
		return nil // in flight when an earlier process stopped
	}
	if w.step >= w.g.MaxSteps {
		return fatal{diag.New(diag.LimitExceeded, "running %s: it started %d nodes", w.g.Ref, w.step).
			WithDetail("limit", "max_steps").
			WithDetail("max", w.g.MaxSteps).
			WithReason("graph_steps")}
	}
	w.step++
	w.note(name)
	pr := &progress{step: w.step}
	w.nodes[name] = pr
	return w.log.Append(evNode, nodeData{Node: name, Step: w.step})
}

// block runs a branch that has nodes of its own.
func (w *walker) block(
	ctx context.Context,
	f *frame,
	b *graphdef.Branch,
	prefix string,
	base map[string]any,
	d *branchData,
) error {
	w.mu.Lock()
	inner := w.frames[prefix]
	if inner == nil {
		inner = &frame{
			prefix:   prefix,
			assigned: map[string]any{},
			cur:      b.Start,
			err:      f.err,
		}
		w.frames[prefix] = inner
	}
	inner.nodes = b.Nodes
	inner.base = base
	w.mu.Unlock()
	if err := w.walk(ctx, inner); err != nil {
		return err
	}
	if inner.fail {
		return diag.New(diag.ExecutionFailed, "the branch ended with status fail").WithDetail("data", inner.output)
	}
	d.Assign = inner.assigned
	d.Result = inner.output
	if d.Result == nil {
		d.Result = map[string]any(inner.assigned)
	}
	return nil
}
