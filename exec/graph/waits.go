package graph

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
)

// wait waits for a time, an event or other runs.
func (w *walker) wait(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
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

func (w *walker) waitStarted(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
	name string,
) (*waitData, error) {
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
		d.Until = now.Add(n.Wait.Timeout).Format(time.RFC3339Nano)
		d.Expires = true
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
			end.Event = d.Event
			end.Payload = m.Payload
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
func (w *walker) ask(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
	name := f.prefix + n.Name
	if pr.ask == nil {
		question, err := w.question(n.Ask.Question, w.scope(f, pr.step, nil))
		if err != nil {
			return nil, err
		}
		d := &askData{
			Node:     name,
			Question: question,
			Choices:  n.Ask.Choices,
			Schema:   n.Ask.RawSchema,
			To:       "person",
		}
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
	first := len(n.Ask.Choices) > 0 &&
		a.Answer == any(n.Ask.Choices[0])
	return &outcome{result: map[string]any{
		"answer": a.Answer,
		"first":  first,
		"by":     a.By,
		"time":   a.Time,
	}}, nil
}

// answer returns an answer from the inbox, from the person at the terminal, or the
// default after the timeout. Without one the run suspends.
func (w *walker) answer(
	ctx context.Context,
	n *graphdef.Node,
	d *askData,
	name string,
	step int,
) (*answerData, error) {
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
