package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// walker walks one run. Branches and items of foreach run in goroutines; mu guards
// the log and everything that its lines change.
type walker struct {
	g         *graphdef.Graph
	p         Params
	held      policy.Held
	env       map[string]any
	started   *startedData
	startedAt string // as ${run.started}
	began     time.Time
	active    time.Duration // before this process
	slots     chan struct{} // calls at the same time
	depth     int           // levels of runs and threads that may be below

	mu     sync.Mutex
	log    *transcript.Log
	step   int
	recent []string // the last nodes, for the error about max_steps
	errors []NodeError
	root   *frame
	frames map[string]*frame    // of branches in flight after a resume, by prefix
	nodes  map[string]*progress // of nodes in flight, by qualified name
	// approvals are the questions about calls of nodes in flight, by approvalName.
	approvals map[string]*approval
	ended     string // the state that the log ends in, "" while it runs
	end       endData
	one       bool // one node was committed, and the run shall suspend

	commits int  // of the graph's own nodes in this process
	owed    bool // the next line must be on the disk before anything else has an effect
}

// frame is a walk over one mapping of nodes: the nodes of the graph or of a branch.
type frame struct {
	prefix   string // of the names of its nodes: "" or "check.fan."
	nodes    map[string]*graphdef.Node
	base     map[string]any // the state when the branch started; nil at the root
	assigned map[string]any // what the frame assigned; at the root, the state
	cur      string         // the next node, "" at the end
	err      map[string]any // of the last error edge
	output   any            // of a return node
	fail     bool           // its status
}

// progress is what the log states about a node that is in flight.
type progress struct {
	step     int
	child    string
	key      string
	items    map[int]*itemData
	branches map[string]*branchData
	ask      *askData
	answer   *answerData
	wait     *waitData
	waited   *waitedData

	at *resolved // the item of the node; nil: a call resolves it
}

// resolved is an item that a node calls, verified for the calls of this node.
// Once for all calls of the node: its files must be read and verified anyway, and the recorded
// digest is the digest of the item that ran. A repeated attempt resolves the item again.
type resolved struct {
	ref item.Ref
	t   Target
}

func newWalker(g *graphdef.Graph, p Params) (*walker, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	w := &walker{
		g:         g,
		p:         p,
		held:      p.Held,
		slots:     make(chan struct{}, g.MaxConcurrency),
		frames:    map[string]*frame{},
		nodes:     map[string]*progress{},
		approvals: map[string]*approval{},
	}
	if w.depth = g.Limits.Depth; p.Child != nil {
		w.depth = min(w.depth, p.Child.Left)
	}
	if g.Permissions != nil || g.Sandbox != nil {
		grant := policy.Grant{Caps: policy.Set{"rye.*", "rye.draft.*"}, Profile: g.Sandbox, Source: "graph " + g.Ref.ID}
		if g.Permissions != nil {
			grant.Caps = *g.Permissions
		}
		w.held = w.held.With(grant)
	}
	return w, nil
}

// environment reads the variables that the graph requires.
func (w *walker) environment() error {
	w.env = map[string]any{}
	var missing []string
	for _, name := range w.g.Env() {
		v := w.p.Getenv(name)
		if v == "" {
			missing = append(missing, name)
		}
		w.env[name] = v
	}
	if len(missing) > 0 {
		return diag.New(diag.ConfigError, "starting %s: the environment lacks %s, which env_requires names", w.g.Ref, strings.Join(missing, ", ")).
			WithReason("graph_env").WithDetail("missing", missing)
	}
	return nil
}

// run walks the root frame within the limit of time.
func (w *walker) run(ctx context.Context) error {
	left := w.g.Limits.Duration - w.active
	within, cancel := context.WithTimeout(ctx, max(left, 0))
	defer cancel()
	if err := w.hooks(within, "graph_started", nil); err != nil {
		return err
	}
	err := w.walk(within, w.root)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return diag.New(diag.LimitExceeded, "running %s: it took longer than %s", w.g.Ref, w.g.Limits.Duration).
			WithDetail("limit", "duration_seconds").WithDetail("max", int64(w.g.Limits.Duration/time.Second))
	}
	return err
}

// fatal is an error that no error edge takes.
type fatal struct{ error }

// Unwrap returns the error.
func (f fatal) Unwrap() error {
	return f.error
}

// walk runs the nodes of a frame from its position to its end.
func (w *walker) walk(ctx context.Context, f *frame) error {
	for f.cur != "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := f.nodes[f.cur]
		if n == nil {
			return diag.New(diag.GraphChanged, "running %s: the node %q does not exist", w.g.Ref, f.prefix+f.cur)
		}
		if err := w.visit(ctx, f, n); err != nil {
			return err
		}
	}
	return nil
}

// visit runs one node: it is committed as a whole, or its error edge is taken.
func (w *walker) visit(ctx context.Context, f *frame, n *graphdef.Node) error {
	if w.one && f.base == nil {
		return &Suspension{Reason: "request", Nodes: []string{n.Name}}
	}
	m, err := w.inbox("cancel", "")
	if m != nil || err != nil {
		return errors.Join(fatal{diag.New(diag.Cancelled, "cancelled on request")}, err)
	}
	name := f.prefix + n.Name
	began := w.p.Now()
	pr, err := w.begin(ctx, f, n)
	var out *outcome
	if err == nil {
		out, err = w.perform(ctx, f, n, pr)
	}
	if err == nil {
		err = w.commit(ctx, f, n, pr, out, began)
	}
	var s *Suspension
	var stop fatal
	switch {
	case err == nil:
		w.keep(out)
		w.report(
			name,
			pr.step,
			"ok",
			out.note,
			w.p.Now().Sub(began),
		)
		w.afterCommit(ctx, f, n)
		return nil
	case errors.As(err, &s):
		w.report(
			name,
			w.stepOf(pr),
			"suspended",
			s.Reason+" "+strings.Join(s.Nodes, ", "),
			0,
		)
		return err
	case errors.As(err, &stop), ctx.Err() != nil:
		return err
	}
	return w.failed(
		ctx,
		f,
		n,
		pr,
		err,
		w.p.Now().Sub(began),
	)
}

func (w *walker) stepOf(pr *progress) int {
	if pr == nil {
		return 0
	}
	return pr.step
}

func (w *walker) afterCommit(ctx context.Context, f *frame, n *graphdef.Node) {
	if f.base == nil && w.p.OneStep {
		w.one = true
	}
	if f.base == nil && w.started.Only {
		f.cur = ""
	}
	if f.base == nil {
		if w.commits++; w.g.SnapshotEvery > 0 &&
			w.commits%w.g.SnapshotEvery == 0 &&
			f.cur != "" {
			w.snapshot(ctx, StateRunning, n.Name, false)
		}
	}
	_ = w.hooks(ctx, "node_completed", map[string]any{"node": f.prefix + n.Name})
}

// The beginnings of the ids from which the ids of the runs of entries and branches are
// derived.
const (
	childItem   = "item"
	childBranch = "branch"
)

// begin counts the step of a node and records that it starts, unless the log states
// that it was in flight when an earlier process stopped.
func (w *walker) begin(ctx context.Context, f *frame, n *graphdef.Node) (*progress, error) {
	name := f.prefix + n.Name
	w.mu.Lock()
	defer w.mu.Unlock()
	if pr := w.nodes[name]; pr != nil {
		return pr, nil
	}
	if w.step >= w.g.MaxSteps {
		return nil, fatal{diag.New(
			diag.LimitExceeded,
			"running %s: it started %d nodes; the last ones are %s",
			w.g.Ref,
			w.step,
			strings.Join(w.recent, ", "),
		).
			WithDetail("limit", "max_steps").
			WithDetail("max", w.g.MaxSteps).
			WithReason("graph_steps")}
	}
	w.step++
	w.note(name)
	pr := &progress{step: w.step, items: map[int]*itemData{}, branches: map[string]*branchData{}}
	data := nodeData{Node: name, Step: pr.step}
	quick := true
	if n.Action != nil {
		pr.at = w.early(ctx, f, n, pr.step)
	}
	if n.Type == graphdef.TypeAction {
		if pr.at != nil {
			data.Ref = pr.at.ref.String()
			data.Digest = pr.at.t.Digest
			quick = pr.at.t.Pure
			if pr.at.t.Graph || pr.at.t.Thread {
				data.Child = NewID(pr.at.ref.ID, w.p.Now())
			}
		}
	} else if n.Type == graphdef.TypeForeach {
		quick = false
		data.Child = NewID(childItem, w.p.Now())
	} else if n.Type == graphdef.TypeParallel {
		quick = false
		data.Child = NewID(childBranch, w.p.Now())
	}
	data.Key = w.key(name, pr.step, -1)
	pr.child = data.Child
	pr.key = data.Key
	w.nodes[name] = pr
	return pr, w.record(ctx, evNode, data, quick && !w.owed)
}

// record writes a line, and waits until it and those before it are on the disk unless they
// may follow later.
func (w *walker) record(ctx context.Context, event string, data any, later bool) error {
	if later {
		return w.log.Append(event, data)
	}
	err := w.log.Commit(ctx, event, data)
	if err == nil {
		w.owed = false
	}
	return err
}

// joins reports whether the line that is written next needs no flush of its own: the start
// of the node next follows at once, or the end of the run, and is flushed with it before
// anything has another effect. Hooks and snapshots come between them.
func (w *walker) joins(f *frame, next string) bool {
	if len(w.g.Hooks) > 0 ||
		w.g.SnapshotEvery > 0 ||
		w.p.OneStep ||
		w.started.Only ||
		w.p.Log != nil {
		return false
	}
	if next == "" {
		return f.base == nil &&
			(w.p.Settle == nil || w.p.Settles != nil && !w.p.Settles())
	}
	n := f.nodes[next]
	return n != nil && (n.Type == graphdef.TypeAction || n.Type == graphdef.TypeForeach || n.Type == graphdef.TypeParallel)
}

// early resolves the item of a node before its start is recorded, so that the recorded
// digest belongs to the item which the node calls. It returns nil if the id depends on
// an entry of foreach, and on an error, which the call reports.
func (w *walker) early(ctx context.Context, f *frame, n *graphdef.Node, step int) *resolved {
	_, constant := n.Action.ID.Constant()
	if !constant && n.Type == graphdef.TypeForeach {
		return nil
	}
	ref, t, err := w.resolve(ctx, f, n.Action, step, nil)
	if err != nil {
		return nil
	}
	return &resolved{ref, t}
}

func (w *walker) note(name string) {
	if w.recent = append(w.recent, name); len(w.recent) > 10 {
		w.recent = w.recent[1:]
	}
}

// key returns the idempotency key of a call.
func (w *walker) key(node string, step, index int) string {
	return digestOf(fmt.Appendf(nil, "%s\n%s\n%d\n%d\n", w.log.ID(), node, step, index))
}

// outcome is what a node has done before its commit.
type outcome struct {
	result  any
	extra   map[string]any // assigned by the node itself: collect, branches
	output  any
	isEnd   bool // of a return node
	cached  bool
	key     string // under which the result is kept after the commit
	note    string // for the progress line
	pure    bool   // repeating it is harmless
	noNodes bool
}

// perform does what a node does, without changing the state.
func (w *walker) perform(
	ctx context.Context,
	f *frame,
	n *graphdef.Node,
	pr *progress,
) (*outcome, error) {
	err := w.hooks(ctx, "node_started", map[string]any{"node": f.prefix + n.Name})
	if err != nil {
		var skip *skipped
		if errors.As(err, &skip) {
			return &outcome{result: map[string]any{"skipped": true}, note: "skipped"}, nil
		}
		return nil, err
	}
	switch n.Type {
	case graphdef.TypeGate:
		return &outcome{pure: true}, nil
	case graphdef.TypeReturn:
		out := &outcome{isEnd: true, output: w.view(f), pure: true}
		if n.Output != nil {
			v, err := w.render(n.Output, w.scope(f, pr.step, nil))
			if err != nil {
				return nil, err
			}
			out.output = v
		}
		return out, nil
	case graphdef.TypeForeach:
		return w.foreach(ctx, f, n, pr)
	case graphdef.TypeParallel:
		return w.parallel(ctx, f, n, pr)
	case graphdef.TypeAsk:
		return w.ask(ctx, f, n, pr)
	case graphdef.TypeWait:
		return w.wait(ctx, f, n, pr)
	}
	return w.action(ctx, f, n, pr)
}

// view returns the state as the nodes of a frame see it.
func (w *walker) view(f *frame) map[string]any {
	if f.base == nil {
		return f.assigned
	}
	out := cloneMap(f.base)
	maps.Copy(out, f.assigned)
	return out
}

// scope returns the values of templates and conditions.
func (w *walker) scope(f *frame, step int, more map[string]any) map[string]any {
	out := map[string]any{
		"inputs": w.started.Inputs, "state": w.view(f), "env": w.env,
		"run": map[string]any{"id": w.log.ID(), "started": w.startedAt, "step": int64(step)},
	}
	if w.started.Inputs == nil {
		out["inputs"] = map[string]any{}
	}
	if f.err != nil {
		out["error"] = f.err
	}
	maps.Copy(out, more)
	return out
}

func (w *walker) render(t *interpolate.Template, scope map[string]any) (any, error) {
	v, err := t.Render(scope)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "%w", err).WithReason("graph_path")
	}
	return v, nil
}

// resolve renders the id of an action and resolves the item.
func (w *walker) resolve(
	ctx context.Context,
	f *frame,
	a *graphdef.Action,
	step int,
	more map[string]any,
) (item.Ref, Target, error) {
	v, err := w.render(a.ID, w.scope(f, step, more))
	if err != nil {
		return item.Ref{}, Target{}, err
	}
	id, _ := v.(string)
	if a.Verb == policy.Search && v == nil {
		return item.Ref{Kind: a.Kind}, Target{}, nil
	}
	ref, err := item.ParseRef(id, a.Kind)
	if err != nil {
		return ref, Target{}, diag.New(diag.ValidationFailed, "item_id is %q: %w", id, err)
	}
	if ref.Kind != a.Kind {
		return ref, Target{}, diag.New(diag.ValidationFailed, "item_id is %q, and item_type is %s", id, a.Kind)
	}
	if a.Verb != policy.Execute {
		return ref, Target{}, nil
	}
	if err := w.held.Allows(a.Verb, ref); err != nil {
		return ref, Target{}, err
	}
	t, err := w.p.Dispatcher.Target(ctx, ref)
	return ref, t, err
}
