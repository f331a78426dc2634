package graph

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// foreach calls an item for each entry of a list. Each finished entry is recorded by
// itself, and the order of the results is that of the list.
func (w *walker) foreach(ctx context.Context, f *frame, n *Node, pr *progress) (*outcome, error) {
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
func (w *walker) items(ctx context.Context, f *frame, n *Node, pr *progress, list []any, todo []int, workers int) (stop, suspended error) {
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
				err := w.oneItem(ctx, f, n, pr, i, list, share, min(workers, len(list)))
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
func (w *walker) oneItem(ctx context.Context, f *frame, n *Node, pr *progress, i int, list []any, share *Share, atOnce int) error {
	name := f.prefix + n.Name
	in := invocation{name: name, step: pr.step, index: i, child: pr.child, key: w.key(name, pr.step, i), more: map[string]any{n.As: list[i]}, at: pr.at, share: share}
	out, err := w.call(ctx, f, n.Action, in)
	var s *Suspension
	var fail fatal
	if errors.As(err, &s) || errors.As(err, &fail) || ctx.Err() != nil && err != nil {
		return err
	}
	d := &itemData{Node: name, Index: i, Of: len(list), AtOnce: atOnce}
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
func (e *partError) Unwrap() error { return e.error }

func (w *walker) collected(n *Node, pr *progress, count int) *outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	results, failures := make([]any, count), []any{}
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
func (w *walker) parallel(ctx context.Context, f *frame, n *Node, pr *progress) (*outcome, error) {
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
func (w *walker) joined(n *Node, pr *progress) *outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	result, failures, extra := map[string]any{}, []any{}, map[string]any{}
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
func (w *walker) branch(ctx context.Context, f *frame, n *Node, pr *progress, b *Branch, base map[string]any) (*branchData, error) {
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
	if errors.As(err, &s) || errors.As(err, &fail) || ctx.Err() != nil && err != nil || context.Cause(ctx) == errBlockEnded {
		return nil, errors.Join(err, ctx.Err())
	}
	status, text := "ok", ""
	if err != nil {
		e := nodeError(name, err)
		e.Branch = b.Name
		d.Error, d.Assign, d.Result = &e, map[string]any{}, nil
		status, text = "failed", string(e.Code)+": "+e.Message
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.Commit(ctx, evBranch, d); err != nil {
		return nil, fatal{err}
	}
	pr.branches[b.Name] = d
	w.report(name+"."+b.Name, pr.step, status, text, w.p.Now().Sub(began))
	return d, nil
}

// single runs a branch that is one action.
func (w *walker) single(ctx context.Context, f *frame, n *Node, pr *progress, b *Branch, base map[string]any, d *branchData) error {
	name := f.prefix + n.Name
	index := slices.Index(n.Branches, b)
	own := &frame{prefix: f.prefix, base: base, own: map[string]any{}, err: f.err}
	in := invocation{name: name + "." + b.Name, step: pr.step, index: index, child: pr.child, key: w.key(name+"."+b.Name, pr.step, index), more: map[string]any{}}
	if err := w.count(in.name); err != nil {
		return err
	}
	out, err := w.call(ctx, own, b.Action, in)
	if err != nil {
		return err
	}
	d.Result = out.result
	for _, k := range slices.Sorted(maps.Keys(b.Assign)) {
		if d.Assign[k], err = w.render(b.Assign[k], w.scope(own, pr.step, map[string]any{"result": out.result})); err != nil {
			return diag.New(diag.CodeOf(err), "assigning %s: %w", k, err)
		}
	}
	maps.Copy(own.own, d.Assign)
	return w.g.checkState(w.view(own), "the state after assign")
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
			WithDetail("limit", "max_steps").WithDetail("max", w.g.MaxSteps).WithReason("graph_steps")}
	}
	w.step++
	w.note(name)
	pr := &progress{step: w.step}
	w.nodes[name] = pr
	return w.log.Append(evNode, nodeData{Node: name, Step: w.step})
}

// block runs a branch that has nodes of its own.
func (w *walker) block(ctx context.Context, f *frame, b *Branch, prefix string, base map[string]any, d *branchData) error {
	w.mu.Lock()
	inner := w.frames[prefix]
	if inner == nil {
		inner = &frame{prefix: prefix, own: map[string]any{}, cur: b.Start, err: f.err}
		w.frames[prefix] = inner
	}
	inner.nodes, inner.base = b.Nodes, base
	w.mu.Unlock()
	if err := w.walk(ctx, inner); err != nil {
		return err
	}
	if inner.fail {
		return diag.New(diag.ExecutionFailed, "the branch ended with status fail").WithDetail("data", inner.output)
	}
	d.Assign, d.Result = inner.own, inner.output
	if d.Result == nil {
		d.Result = map[string]any(inner.own)
	}
	return nil
}

// wait waits for a time, an event or other runs.
func (w *walker) wait(ctx context.Context, f *frame, n *Node, pr *progress) (*outcome, error) {
	name := f.prefix + n.Name
	if pr.waited != nil { // recorded by a process that was stopped before the commit
		return w.waitEnded(ctx, pr, pr.waited)
	}
	d, err := w.waitStarted(ctx, f, n, pr, name)
	if err != nil {
		return nil, err
	}
	for {
		done, err := w.waitOver(ctx, name, d)
		if err != nil {
			return nil, err
		}
		if done != nil {
			return w.waitEnded(ctx, pr, done)
		}
		until, _ := time.Parse(time.RFC3339Nano, d.Until)
		left := until.Sub(w.p.Now())
		if d.Event != "" || d.Runs != nil || left > inProcess {
			return nil, &Suspension{Reason: "wait", Nodes: []string{name}, WakeAt: until}
		}
		if err := sleep(ctx, left); err != nil {
			return nil, err
		}
	}
}

// inProcess is the longest wait in the process.
const inProcess = 60 * time.Second

func (w *walker) waitStarted(ctx context.Context, f *frame, n *Node, pr *progress, name string) (*waitData, error) {
	if pr.wait != nil {
		return pr.wait, nil
	}
	d := &waitData{Node: name, Event: n.Wait.Event}
	now := w.p.Now().UTC()
	switch {
	case n.Wait.Until != nil:
		v, err := w.render(n.Wait.Until, w.scope(f, pr.step, nil))
		if err != nil {
			return nil, err
		}
		s, _ := v.(string)
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return nil, diag.New(diag.ValidationFailed, "until is %q, not a time such as 2026-11-22T10:30:00Z", s)
		}
		d.Until = t.UTC().Format(time.RFC3339Nano)
	case n.Wait.Event == "" && n.Wait.Runs == nil:
		d.Until = now.Add(n.Wait.For).Format(time.RFC3339Nano)
	case n.Wait.Timeout > 0:
		d.Until, d.Expires = now.Add(n.Wait.Timeout).Format(time.RFC3339Nano), true
	}
	if n.Wait.Runs != nil {
		v, err := w.render(n.Wait.Runs, w.scope(f, pr.step, nil))
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		d.Runs = []string{}
		for _, x := range list {
			s, isText := x.(string)
			ok = ok && isText && IsID(s)
			d.Runs = append(d.Runs, s)
		}
		if !ok {
			return nil, diag.New(diag.ValidationFailed, "runs is not a list of ids of runs")
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.Commit(ctx, evWait, d); err != nil {
		return nil, fatal{err}
	}
	pr.wait = d
	return d, nil
}

// waitOver returns the end of a wait, or nil while it lasts.
func (w *walker) waitOver(ctx context.Context, name string, d *waitData) (*waitedData, error) {
	now := w.p.Now().UTC()
	end := &waitedData{Node: name, At: now.Format(time.RFC3339)}
	until, _ := time.Parse(time.RFC3339Nano, d.Until)
	switch {
	case d.Event != "":
		m, err := w.inbox("event", d.Event)
		if err != nil {
			return nil, fatal{err}
		}
		if m != nil {
			end.Event, end.Payload = d.Event, m.Payload
			return end, nil
		}
	case d.Runs != nil:
		states, resting, err := runStates(ctx, w.p.Project, d.Runs)
		if err != nil {
			return nil, err
		}
		if resting {
			end.Runs = states
			return end, nil
		}
	default:
		if !now.Before(until) {
			return end, nil
		}
		return nil, nil
	}
	if d.Expires && !now.Before(until) {
		return nil, diag.New(diag.Timeout, "the wait ended after its timeout")
	}
	return nil, nil
}

func (w *walker) waitEnded(ctx context.Context, pr *progress, d *waitedData) (*outcome, error) {
	if pr.waited == nil {
		w.mu.Lock()
		err := w.log.Commit(ctx, evWaited, d)
		w.mu.Unlock()
		if err != nil {
			return nil, fatal{err}
		}
		pr.waited = d
		if err := w.taken("event", d.Event); err != nil {
			return nil, fatal{err}
		}
	}
	result := map[string]any{"at": pr.waited.At}
	if d.Event != "" {
		result["event"], result["payload"] = d.Event, pr.waited.Payload
	}
	if d.Runs != nil {
		runs := map[string]any{}
		for id, s := range d.Runs {
			runs[id] = s
		}
		result["runs"] = runs
	}
	return &outcome{result: result}, nil
}

// ask asks a question and returns its answer.
func (w *walker) ask(ctx context.Context, f *frame, n *Node, pr *progress) (*outcome, error) {
	name := f.prefix + n.Name
	if pr.ask == nil {
		question, err := w.question(n.Ask.Question, w.scope(f, pr.step, nil))
		if err != nil {
			return nil, err
		}
		d := &askData{Node: name, Question: question, Choices: n.Ask.Choices, Schema: n.Ask.RawSchema, To: "person"}
		if n.Ask.Parent {
			d.To = "parent"
		}
		if n.Ask.Timeout > 0 {
			d.Expires = w.p.Now().Add(n.Ask.Timeout).UTC().Format(time.RFC3339Nano)
		}
		w.mu.Lock()
		err = w.log.Commit(ctx, evAsk, d)
		w.mu.Unlock()
		if err != nil {
			return nil, fatal{err}
		}
		pr.ask = d
	}
	if pr.answer == nil {
		a, err := w.answer(ctx, n, pr.ask, name, pr.step)
		if err != nil {
			return nil, err
		}
		a.Time = w.p.Now().UTC().Format(time.RFC3339)
		w.mu.Lock()
		err = w.log.Commit(ctx, evAnswer, a)
		w.mu.Unlock()
		if err != nil {
			return nil, fatal{err}
		}
		pr.answer = a
		if err := w.taken("answer", name); err != nil {
			return nil, fatal{err}
		}
	}
	a := pr.answer
	first := len(n.Ask.Choices) > 0 && a.Answer == any(n.Ask.Choices[0])
	return &outcome{result: map[string]any{"answer": a.Answer, "first": first, "by": a.By, "time": a.Time}}, nil
}

// answer returns an answer from the inbox, from the person at the terminal, or the
// default after the timeout. Without one the run suspends.
func (w *walker) answer(ctx context.Context, n *Node, d *askData, name string, step int) (*answerData, error) {
	m, err := w.inbox("answer", name)
	switch {
	case err != nil:
		return nil, fatal{err}
	case m != nil && n.Ask.Refuses(m.Payload) == "":
		return &answerData{Node: name, Answer: m.Payload, By: m.By}, nil
	case m != nil: // a wrong answer leaves the run suspended
		if err := w.taken("answer", name); err != nil {
			return nil, fatal{err}
		}
	}
	expires, _ := time.Parse(time.RFC3339Nano, d.Expires)
	if d.Expires != "" && !w.p.Now().Before(expires) {
		return timedOut(n, d)
	}
	if w.p.Ask != nil && !n.Ask.Parent {
		a, err := w.askPerson(ctx, n, d, step, expires)
		if a != nil || !errors.Is(err, ErrNoAnswer) {
			return a, err
		}
	}
	return nil, &Suspension{Reason: "ask", Nodes: []string{name}, WakeAt: expires}
}
