package graph

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// Resume continues a run at the nodes that were in flight. digest is the present digest of
// the graph. A run that has completed is not changed: its result is returned.
func Resume(
	ctx context.Context,
	g *graphdef.Graph,
	digest item.Digest,
	id string,
	p Params,
) (*Result, error) {
	w, err := newWalker(g, p)
	if err != nil {
		return nil, err
	}
	log := p.Log
	lines := p.Lines
	torn := int64(0)
	if log == nil {
		if log, lines, torn, err = transcript.Open(ctx, w.logParams(id)); err != nil {
			return nil, err
		}
		defer func() { _ = log.Close() }()
	}
	w.log = log
	if err := w.replay(lines); err != nil {
		return nil, err
	}
	if w.ended == StateCompleted {
		return w.recorded(), w.writeResult(w.recorded())
	}
	if err := w.environment(); err != nil {
		return nil, err
	}
	changes, err := w.changes(ctx, digest)
	if err != nil {
		return nil, err
	}
	w.completeState()
	w.held = w.recordedHeld()
	w.depth = min(w.depth, w.started.Limits.Depth)
	w.began = w.p.Now()
	d := resumedData{
		From:     log.Seq(),
		Torn:     torn,
		Changes:  changes,
		Repeated: w.inFlight(),
		PID:      os.Getpid(),
	}
	if p.Log == nil {
		if err := w.log.Commit(ctx, evResumed, d); err != nil {
			return nil, err
		}
	}
	if len(p.Set) > 0 {
		if err := w.inject(ctx); err != nil {
			return nil, err
		}
	}
	return w.finish(ctx, w.run(ctx))
}

// completeState sets the keys that the graph declares with an initial value and the run lacks: it began with an earlier
// version of the graph.
func (w *walker) completeState() {
	for k, v := range w.g.State {
		if _, ok := w.root.assigned[k]; !ok {
			w.root.assigned[k] = v
		}
	}
}

// recorded returns the result that the log states.
func (w *walker) recorded() *Result {
	r := &Result{
		RunID:  w.log.ID(),
		Status: w.ended,
		Output: w.end.Output,
		Steps:  w.end.Steps,
		Errors: w.end.Errors,
		Cost:   w.end.Cost,
	}
	if r.Errors == nil {
		r.Errors = []NodeError{}
	}
	return r
}

// recordedHeld returns the grants with which the run started, together with the grants of the
// caller that resumes it: resuming a run does not widen it.
func (w *walker) recordedHeld() policy.Held {
	var held policy.Held
	for _, s := range w.started.Held {
		set := policy.Set{}
		for _, c := range s.Caps {
			set = append(set, policy.Cap(c))
		}
		held = held.With(policy.Grant{Caps: set, Profile: s.Profile, Source: s.Source})
	}
	for _, h := range w.held {
		if !slices.ContainsFunc(w.started.Held, func(s heldSet) bool { return s.is(h) }) {
			held = held.With(h)
		}
	}
	return held
}

// is reports whether a recorded grant and a grant of the caller are equal.
func (s heldSet) is(g policy.Grant) bool {
	return s.Source == g.Source && slices.EqualFunc(s.Caps, g.Caps, func(x string, y policy.Cap) bool {
		return x == string(y)
	}) &&
		reflect.DeepEqual(s.Profile, g.Profile)
}

// inFlight returns the nodes that a resume repeats.
func (w *walker) inFlight() []string {
	var out []string
	for name := range w.nodes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// replay sets the walker to the position that the lines of the log state.
func (w *walker) replay(lines []transcript.Line) error {
	for i := range lines {
		l := &lines[i]
		if err := w.line(l); err != nil {
			return diag.New(diag.TranscriptBroken, "reading the log of %s: line %d: %w", w.log.ID(), l.Seq, err)
		}
		if l.Event == evStarted {
			w.startedAt = l.At().UTC().Format(time.RFC3339)
		}
	}
	w.active += transcript.Active(lines, evStarted)
	if w.started == nil {
		return diag.New(diag.TranscriptBroken, "reading the log of %s: it has no start", w.log.ID())
	}
	return nil
}

// into decodes the data of a line with its artifacts.
func (w *walker) into(l *transcript.Line, v any) error {
	data, err := dataOf(w.p.Project, w.log.ID(), l)
	if err != nil {
		return err
	}
	return jsonx.Decode(data, v)
}

// dataOf returns the data of a line with its artifacts in their positions.
func dataOf(project, id string, l *transcript.Line) ([]byte, error) {
	if !bytes.Contains(l.Data, []byte(`"artifacts":`)) {
		return l.Data, nil
	}
	data, err := transcript.Expand(project, id, l)
	if err != nil {
		return nil, err
	}
	return jsonx.Marshal(data)
}

// line applies one line.
func (w *walker) line(l *transcript.Line) error {
	if w.started == nil && l.Event != evStarted {
		if w.p.Log != nil {
			return nil // the thread began before its loop
		}
		return errors.New("the log does not begin with graph_started")
	}
	switch l.Event {
	case evStarted:
		d := &startedData{}
		if err := w.into(l, d); err != nil {
			return err
		}
		w.started = d
		w.ended = ""
		w.end = endData{}
		w.root = &frame{nodes: w.g.Nodes, assigned: cloneMap(d.State), cur: d.Node}
		w.errors = d.Errors
		w.step = d.Steps
	case evNode:
		var d nodeData
		if err := w.into(l, &d); err != nil {
			return err
		}
		w.step = max(w.step, d.Step)
		w.note(d.Node)
		if old := w.nodes[d.Node]; old != nil {
			w.forget(d.Node)
		}
		w.nodes[d.Node] = &progress{
			step:     d.Step,
			child:    d.Child,
			key:      d.Key,
			items:    map[int]*itemData{},
			branches: map[string]*branchData{},
		}
	case evInjected:
		var d injectedData
		if err := w.into(l, &d); err != nil {
			return err
		}
		for k, v := range d.Set {
			w.root.assigned[k] = v
		}
	case evSuspended:
		w.ended = StateSuspended
	case evResumed:
		w.ended = ""
	case evCompleted, evError, evCancelled, evKilled:
		w.ended = map[string]string{
			evCompleted: StateCompleted,
			evError:     StateError,
			evCancelled: StateCancelled,
			evKilled:    StateKilled,
		}[l.Event]
		w.end = endData{}
		return w.into(l, &w.end)
	default:
		return w.nodeLine(l)
	}
	return nil
}

// nodeLine applies a line about a node in flight.
func (w *walker) nodeLine(l *transcript.Line) error {
	switch l.Event {
	case evItem:
		d := &itemData{}
		pr, err := w.about(l, d, &d.Node)
		if err == nil && pr != nil {
			pr.items[d.Index] = d
		}
		return err
	case evBranch:
		d := &branchData{}
		pr, err := w.about(l, d, &d.Node)
		if err == nil && pr != nil {
			pr.branches[d.Branch] = d
		}
		return err
	case evAsk:
		d := &askData{}
		pr, err := w.about(l, d, &d.Node)
		if err == nil && d.Approval {
			w.approvals[d.Node] = &approval{ask: d}
		} else if err == nil && pr != nil {
			pr.ask = d
		}
		return err
	case evAnswer:
		d := &answerData{}
		pr, err := w.about(l, d, &d.Node)
		if a := w.approvals[d.Node]; err == nil && a != nil {
			a.answer = d
		} else if err == nil && pr != nil {
			pr.answer = d
		}
		return err
	case evWait:
		d := &waitData{}
		pr, err := w.about(l, d, &d.Node)
		if err == nil && pr != nil {
			pr.wait = d
		}
		return err
	case evWaited:
		d := &waitedData{}
		pr, err := w.about(l, d, &d.Node)
		if err == nil && pr != nil {
			pr.waited = d
		}
		return err
	case evCommitted:
		d := &committedData{}
		if err := w.into(l, d); err != nil {
			return err
		}
		w.apply(w.frameOf(d.Node), "", d)
		if w.started.Only && !strings.Contains(d.Node, ".") {
			w.root.cur = ""
		}
	case evFailed:
		d := &failedData{}
		if err := w.into(l, d); err != nil {
			return err
		}
		w.applyFailed(w.frameOf(d.Node), d)
	}
	return nil
}

// about decodes a line and returns the progress of its node, nil if the node is not in
// flight.
func (w *walker) about(l *transcript.Line, v any, node *string) (*progress, error) {
	if err := w.into(l, v); err != nil {
		return nil, err
	}
	return w.nodes[*node], nil
}

// frameOf returns the frame of a node by its qualified name. The nodes of a branch are
// set when the branch continues.
func (w *walker) frameOf(name string) *frame {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return w.root
	}
	prefix := name[:i+1]
	f := w.frames[prefix]
	if f == nil {
		f = &frame{prefix: prefix, base: map[string]any{}, assigned: map[string]any{}}
		w.frames[prefix] = f
	}
	return f
}

// changes compares the digests of the graph and of the items that it names with the recorded
// ones. Changes by an upgrade of rye are accepted; the others need AcceptChanged.
func (w *walker) changes(ctx context.Context, digest item.Digest) ([]transcript.Change, error) {
	var out []transcript.Change
	add := func(c transcript.Change, same bool) {
		if !same {
			out = append(out, c)
		}
	}
	add(transcript.Changed(
		w.started.Graph,
		w.started.Digest,
		digest,
		w.started.Space,
		w.p.Space,
	))
	named := w.g.FixedTargets()
	for _, t := range w.started.Targets {
		ref, err := item.ParseRef(t.Ref, item.Tool)
		if err != nil || !slices.Contains(named, ref) {
			continue // a graph that changed does not call it any more
		}
		now, err := w.p.Dispatcher.Target(ctx, ref)
		if err != nil {
			now = Target{}
		}
		add(transcript.Changed(t.Ref, t.Digest, now.Digest, t.Space, now.Space))
	}
	err := transcript.Unaccepted(w.log.ID(), "run", out)
	if err != nil && !w.p.AcceptChanged {
		return nil, err.WithReason("run_changed")
	}
	return out, nil
}

// inject records values that a person sets.
func (w *walker) inject(ctx context.Context) error {
	state := cloneMap(w.root.assigned)
	b, err := jsonx.Marshal(state)
	if err != nil {
		return diag.New(diag.Internal, "setting the state: %w", err)
	}
	for k, v := range w.p.Set {
		if w.g.StateClosed && w.g.StateKeys[k] == nil {
			return diag.New(diag.ValidationFailed, "setting %s: state_schema has no such key", k)
		}
		state[k] = v
	}
	if err := w.g.CheckState(state, "the state with the given values"); err != nil {
		return err
	}
	err = w.log.Commit(ctx, evInjected, injectedData{By: w.p.By, Set: w.p.Set, Before: digestOf(b)})
	if err != nil {
		return err
	}
	w.root.assigned = state
	return nil
}

// runStates returns the states of runs, and whether all of them rest.
func runStates(ctx context.Context, project string, ids []string) (map[string]string, bool, error) {
	out := map[string]string{}
	resting := true
	for _, id := range ids {
		s, err := Status(ctx, project, id)
		if err != nil {
			return nil, false, err
		}
		out[id] = s.State
		resting = resting && s.State != StateRunning && s.State != StateSuspended
	}
	return out, resting, nil
}
