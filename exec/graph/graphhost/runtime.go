package graphhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/ledger"
	"github.com/ryeos/rye/threads/records"
	"github.com/ryeos/rye/threads/transcript"
)

// Options are how a command starts or resumes a run of a graph. The zero value
// starts a new run.
type Options struct {
	Resume        string // the id of the run to resume
	AcceptChanged bool
	OneStep       bool
	NoSuspend     bool
	Only          string         // run only this node
	State         map[string]any // instead of the initial one
	Set           map[string]any // values to inject
	By            string         // who injects them; "" is a person
	Fork          *graph.Fork    // start from a step of another run
	Ask           func(context.Context, graph.Question) (answer any, by string, err error)
	Confirm       exec.Ask // asks the person about a risk of a call; nil: no person is present
	Progress      func(graph.Progress)
	Event         func(run string, line *transcript.Line) // called with each line of each log, also of graphs that the graph calls
	Watch         func(run string, line *transcript.Line) // as Event, also of graphs that a program below calls
	RunID         string                                  // of a new run; "" for a new id
	Warn          func(diag.Finding)                      // called at the start of a run, not at a resume
}

// event returns the function that receives the lines of the logs, or nil.
func (o *Options) event() func(string, *transcript.Line) {
	switch {
	case o.Watch == nil:
		return o.Event
	case o.Event == nil:
		return o.Watch
	}
	return func(run string, l *transcript.Line) {
		o.Event(run, l)
		o.Watch(run, l)
	}
}

// earlier returns the run that a call continues or forks, "" for none.
func (o *Options) earlier() string {
	if o.Fork != nil {
		return o.Fork.Run
	}
	return o.Resume
}

// graphOptions returns the options of a run that no node started. The options of a
// command are for the first one.
func graphOptions(ctx context.Context, p *project.Project, in *exec.NativeCall) (Options, *graph.Result, error) {
	c := callerOf(p)
	o := c.given()
	if c.options != nil && c.options.taken.Swap(true) {
		o = Options{
			Ask:       o.Ask,
			Confirm:   o.Confirm,
			Progress:  o.Progress,
			Watch:     o.Watch,
			NoSuspend: o.NoSuspend,
		}
	}
	a := in.Asking
	if a == nil || a.Run == "" {
		return o, nil, nil
	}
	done, err := continued(ctx, p, in.Chain.Tool(), a.Run, in.Parameters)
	o.Resume = a.Run
	return o, done, err
}

// asker returns how a run asks a person who is present, nil if it cannot.
func asker(p *project.Project, a *exec.Asking) func(context.Context, graph.Question) (any, string, error) {
	if ask := callerOf(p).given().Ask; ask != nil {
		return ask
	}
	if a == nil {
		return nil
	}
	return func(ctx context.Context, q graph.Question) (any, string, error) {
		text, err := a.Ask(ctx, agent.Question{
			Run:     q.Run,
			Graph:   q.Graph,
			Node:    q.Node,
			Step:    q.Step,
			Text:    q.Text,
			Choices: q.Choices,
			Schema:  q.Ask.RawSchema,
		})
		if errors.Is(err, agent.ErrNoAnswer) {
			return nil, "", graph.ErrNoAnswer
		}
		if err != nil {
			return nil, "", err
		}
		v, why := q.Ask.Read(text)
		if why != "" {
			return nil, "", graph.ErrNoAnswer
		}
		return v, "mcp", nil
	}
}

// continued checks that a call continues the run that an equal call started. done is
// the result of a run that has ended in the meantime.
func continued(
	ctx context.Context,
	p *project.Project,
	it *resolve.Item,
	run string,
	inputs map[string]any,
) (done *graph.Result, err error) {
	dir := p.Spaces.ProjectDir
	s, err := graph.Status(ctx, dir, run)
	if err != nil {
		return nil, err
	}
	began, err := graph.Inputs(dir, run)
	switch {
	case err != nil:
		return nil, err
	case s.Graph != it.Ref.String() || !jsonx.Same(began, inputs):
		return nil, diag.New(diag.ThreadState, "continuing %s: it was started with another graph or other inputs", run)
	case s.State == graph.StateRunning:
		return nil, diag.New(diag.ThreadState, "continuing %s: a process runs it", run)
	case s.State == graph.StateCompleted,
		s.State == graph.StateError && s.Reason == "",
		s.State == graph.StateCancelled,
		s.State == graph.StateKilled:
		return graph.ReadResult(dir, run)
	}
	return nil, nil
}

// Parse parses the graph in an item.
func Parse(it *resolve.Item) (*graphdef.Graph, []diag.Finding) {
	p, _ := resolve.Derive(it, graphKey{it.Path()}, func() (parsedGraph, error) {
		g, findings := graphdef.Parse(it.Ref, it.Path(), itemcheck.Doc(it))
		return parsedGraph{g, findings}, nil
	})
	return p.graph, slices.Clone(p.findings)
}

// graphKey is the key of resolve.Derive for a graph, whose findings name its file.
type graphKey struct{ path string }

// parsedGraph is a graph, which nothing changes, and what was found in its item.
type parsedGraph struct {
	graph    *graphdef.Graph
	findings []diag.Finding
}

// Runtime returns the function of the runtime of graphs. directives runs the threads of nodes.
func Runtime(p *project.Project, directives Directives) exec.Native {
	return func(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
		return runGraph(ctx, p, in, directives)
	}
}

func runGraph(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
	directives Directives,
) (map[string]any, error) {
	it := in.Chain.Tool()
	g, findings := Parse(it)
	if g == nil {
		return nil, diag.FromFindings("reading the graph "+it.Ref.String(), findings)
	}
	if p.Spaces.ProjectDir == "" {
		return nil, diag.New(diag.ConfigError, "running %s: a run is recorded in a project, and this directory is not in a project", it.Ref).WithReason("no_project")
	}
	made := callerOf(p)
	child := made.child
	o := made.given()
	var err error
	if child == nil {
		var done *graph.Result
		if o, done, err = graphOptions(ctx, p, &in); err != nil || done != nil {
			return resultData(done), err
		}
		if p, err = copies.WhereRan(ctx, p, o.earlier()); err != nil {
			return nil, err
		}
	}
	params, err := Params(ctx, p, in.Held)
	if err != nil {
		return nil, err
	}
	defer p.Numbers.Hold()() // runs below it take numbers, too
	account := ledger.AccountOfRun(p, in.Call, g, it.Digest, made.run)
	if account != nil {
		p = inRun(p, account)
	}
	params.Dispatcher = Dispatcher{
		Project:    p,
		Within:     in.Call,
		account:    account,
		directives: directives,
	}
	if account != nil {
		params.Settle = account.Settle
		params.Settles = account.Settles
	}
	if o.Warn != nil && child == nil && o.Resume == "" {
		for _, f := range findings {
			o.Warn(f)
		}
	}
	params.Child, params.Progress, params.Event, params.Ask, params.NoSuspend = child, o.Progress, control.WithWaiting(control.WatchWaiting(ctx, p), o.event()), asker(p, in.Asking), o.NoSuspend
	params.Present = o.Confirm != nil || in.Asking != nil
	params.AcceptChanged, params.Space = o.AcceptChanged &&
		!p.Env.Locked, transcript.Space(it.Root.Space)
	if child == nil {
		params.RunID = o.RunID
		params.OneStep, params.Only, params.State, params.Set, params.By = o.OneStep, o.Only, o.State, o.Set, cmp.Or(o.By, "person")
	}
	resume := o.Resume
	if child != nil {
		resume = ""
		// A process can be stopped before the first line of the child's log.
		lines, err := transcript.Read(p.Spaces.ProjectDir, child.Run)
		switch {
		case len(lines) > 0:
			resume = child.Run
		case err != nil && diag.CodeOf(err) != diag.ThreadNotFound:
			return nil, err
		}
	}
	if account != nil && resume != "" {
		account.Resumes(resume)
	}
	var r *graph.Result
	if child == nil && o.Fork != nil {
		r, err = graph.StartFork(ctx, g, it.Digest, *o.Fork, params)
	} else if resume != "" {
		r, err = graph.Resume(ctx, g, it.Digest, resume, params)
	} else {
		r, err = graph.Start(ctx, g, it.Digest, in.Parameters, params)
	}
	if a := in.Asking; a != nil && child == nil && r != nil {
		a.Run = r.RunID
	}
	return resultData(r), err
}

func resultData(r *graph.Result) map[string]any {
	if r == nil {
		return nil
	}
	return r.Data()
}

// Params returns the parameters that every run of a graph of this project needs.
func Params(ctx context.Context, p *project.Project, held policy.Held) (graph.Params, error) {
	out, err := control.EndParams(ctx, p)
	if err != nil {
		return graph.Params{}, err
	}
	out.Dispatcher = Dispatcher{Project: p}
	out.Held = held
	out.Getenv = p.Env.Getenv
	out.Snapshot = records.Writer(p, out.Signer)
	out.Results = nodeResults(p)
	out.Risk = itemcheck.Risk(ctx, p.Resolver)
	out.Number = func(ctx context.Context, id string, inputs map[string]any) (int64, error) {
		return control.Number(ctx, p, id, inputs)
	}
	if p.Copied != nil {
		// a result would be one of other files
		out.Copy = p.Copied.ID
		out.Results = nil
	}
	b, err := openat.ReadRegular(filepath.Join(p.Spaces.ProjectDir, lock.LockFile), lock.MaxLock)
	if err == nil {
		out.Lock = item.DigestOf(b).String()
	}
	return out, nil
}

// Dispatcher calls items for graphs, by the verbs that every caller uses.
type Dispatcher struct {
	Project *project.Project
	Within  exec.Call          // of the run: its nodes make calls during it
	account *ledger.RunAccount // of the run; nil if it cannot start threads
	// directives is nil in a dispatcher without an account.
	directives Directives
}

// Target implements graph.Dispatcher.
func (d Dispatcher) Target(ctx context.Context, ref item.Ref) (graph.Target, error) {
	switch ref.Kind {
	case item.Tool:
	case item.Directive:
		return d.directiveTarget(ctx, ref)
	default:
		it, err := d.Project.Resolver.Find(ctx, ref)
		if err != nil {
			return graph.Target{}, err
		}
		return graph.Target{Digest: it.Digest, Space: transcript.Space(it.Root.Space)}, nil
	}
	chain, err := d.Project.Executor.Chain(ctx, ref)
	if err != nil {
		return graph.Target{}, err
	}
	it := chain.Tool()
	go func() { _, _ = exec.Schema(it) }() // the call needs it, after its start is recorded
	t := graph.Target{
		Chain:  chain,
		Whole:  wholeDigest(chain),
		Digest: it.Digest,
		Space:  transcript.Space(it.Root.Space),
		Graph:  itemcheck.IsGraph(it),
		Schema: it.Meta.Fields["config_schema"],
	}
	t.Pure = chain.Primitive().Ref.ID == exec.NativeStep &&
		!t.Graph &&
		(it.Declared() == "T0" || it.Declared() == "safe")
	return t, nil
}

// Call implements graph.Dispatcher.
func (d Dispatcher) Call(ctx context.Context, c graph.Call) (any, error) {
	d.Within.Run = c.RunID
	if d.account != nil {
		d.account.Named(c.RunID)
	}
	switch {
	case c.Verb != policy.Execute || c.Ref.Kind == item.Knowledge:
		return d.verb(ctx, c)
	case c.Ref.Kind == item.Directive:
		return d.follow(ctx, c)
	}
	within := d.Within
	within.Key = c.Key
	chain, _ := c.Chain.(*exec.Chain)
	if c.Approval == nil {
		c.Approval = &graph.Approval{}
	}
	run, err := ofNode(d.Project, c).Verbs.Tool(ctx, primary.Call{
		Ref:    c.Ref,
		Held:   c.Held,
		Within: within,
		Params: c.Params,
		Chain:  chain,
		Ask:    d.confirmer(c, false),
	})
	if err != nil {
		return nil, err
	}
	return run.Data, nil
}

// confirmer returns how a call of a node asks about its risk: by the answer that a
// person gave to this very question, at the terminal, or at the client of the call; nil
// if it cannot. A question at a client that answers with a later call suspends the run;
// a thread cannot wait for that (live).
func (d Dispatcher) confirmer(c graph.Call, live bool) exec.Ask {
	if c.Approval != nil && c.Approval.Given != "" {
		return func(_ context.Context, about exec.Asked) (bool, error) {
			return about.Question == c.Approval.Given, nil
		}
	}
	a := d.Within.Asking
	confirm := callerOf(d.Project).given().Confirm
	switch {
	case confirm != nil:
	case a == nil || live && !a.Live:
		return nil
	default:
		confirm = func(ctx context.Context, about exec.Asked) (bool, error) {
			return a.Confirm(ctx, agent.Question{
				Run:  c.RunID,
				Node: c.Node,
				Step: c.Step,
				Text: about.Question,
			})
		}
	}
	return func(ctx context.Context, about exec.Asked) (bool, error) {
		yes, err := confirm(ctx, about)
		if (errors.Is(err, agent.ErrNoAnswer) || errors.Is(err, threads.ErrLeft)) &&
			c.Approval != nil &&
			!live {
			allowance, _, aerr := d.Project.Allowance(ctx)
			if aerr != nil {
				return false, aerr
			}
			c.Approval.Needed = &graph.ApprovalNeed{
				Question: about.Question,
				Timeout:  time.Duration(allowance.Approvals.SuspendedTimeoutSeconds) * time.Second,
				Tier:     about.Tier,
				Rule:     about.Rule,
				Change:   about.Change,
			}
		}
		return yes, err
	}
}

// Suspends has the run of a graph wait for the answer about a call of its node, if the
// allowance states approvals.headless: suspend. A call that a program below the node
// makes is not the node's: the program gets the error.
func Suspends(p *project.Project, call policy.Call, d policy.Decision, timeout time.Duration) {
	c := callerOf(p).node
	if c != nil && c.ref == call.Ref && d.Headless == "suspend" {
		c.Needed = &graph.ApprovalNeed{
			Question: d.Question(),
			Timeout:  timeout,
			Tier:     d.Tier.String(),
			Rule:     d.Rule(),
			Change:   project.ChangeForLog(call.Change),
		}
	}
}

// verb calls search, load or sign, as models do.
func (d Dispatcher) verb(ctx context.Context, c graph.Call) (any, error) {
	w, err := d.Project.Workspace(ctx, d.Within)
	if err != nil {
		return nil, err
	}
	args := c.Params
	switch {
	case c.Verb == policy.Execute:
		args = map[string]any{"item_type": string(c.Ref.Kind), "item_id": c.Ref.ID, "parameters": c.Params}
	case c.Verb != policy.Search:
		args["item_type"], args["item_id"] = string(c.Ref.Kind), c.Ref.ID
	case args["scope"] == nil && c.Ref.Kind != "":
		args["scope"] = string(c.Ref.Kind)
		if c.Ref.ID != "" {
			args["scope"] = string(c.Ref.Kind) + "." + strings.ReplaceAll(c.Ref.ID, "/", ".") + ".*"
		}
	}
	raw, err := jsonx.Marshal(args)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "calling %s: %w", c.Verb, err)
	}
	env := w.Do(ctx, agent.Request{
		Name:   string(c.Verb),
		Args:   json.RawMessage(raw),
		Held:   c.Held,
		Within: d.Within,
	})
	if env.Error != nil {
		return nil, diag.New(env.Error.Code, "%s", env.Error.Message)
	}
	b, err := jsonx.Marshal(env.Data)
	if err != nil {
		return nil, diag.New(diag.Internal, "reading the result of %s: %w", c.Verb, err)
	}
	v, _ := jsonx.ParseMessage(b)
	return v, nil
}
