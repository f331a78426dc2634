package project

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/transcript"
)

// GraphOptions are how a command starts or resumes a run of a graph. The zero value
// starts a new run.
type GraphOptions struct {
	Resume        string // the id of the run to resume
	AcceptChanged bool
	OneStep       bool
	NoSuspend     bool
	Only          string         // run only this node
	State         map[string]any // instead of the initial one
	Set           map[string]any // values to inject
	Fork          *graph.Fork    // start from a step of another run
	Ask           func(context.Context, graph.Question) (answer any, by string, err error)
	Progress      func(graph.Progress)
	Warn          func(diag.Finding) // called at the start of a run, not at a resume
}

type graphOptionsKey struct{}

type graphChildKey struct{}

// WithGraphOptions returns a context for one call of a graph.
func WithGraphOptions(ctx context.Context, o GraphOptions) context.Context {
	return context.WithValue(ctx, graphOptionsKey{}, o)
}

// ParseGraph parses the graph in an item.
func ParseGraph(it *resolve.Item) (*graph.Graph, []diag.Finding) {
	return graph.Parse(it.Ref, it.Path(), &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos})
}

// IsGraph reports whether an item is a graph.
func IsGraph(it *resolve.Item) bool {
	return it.Ref.Kind == item.Tool && it.Meta.ToolType == "graph"
}

// runGraph is the function of the runtime of graphs.
func (p *Project) runGraph(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
	it := in.Chain.Tool()
	g, findings := ParseGraph(it)
	if g == nil {
		return nil, diag.FromFindings("reading the graph "+it.Ref.String(), findings)
	}
	if p.Spaces.ProjectDir == "" {
		return nil, diag.New(diag.ConfigError, "running %s: a run is recorded in a project, and this directory is in none", it.Ref).WithReason("no_project")
	}
	o, _ := ctx.Value(graphOptionsKey{}).(GraphOptions)
	child, _ := ctx.Value(graphChildKey{}).(*graph.Child)
	params, err := p.GraphParams(ctx, in.Held)
	if err != nil {
		return nil, err
	}
	if o.Warn != nil && child == nil && o.Resume == "" {
		for _, f := range findings {
			o.Warn(f)
		}
	}
	params.Child, params.Progress, params.Ask, params.NoSuspend = child, o.Progress, o.Ask, o.NoSuspend
	params.AcceptChanged = o.AcceptChanged && !p.Env.Locked
	if child == nil {
		params.OneStep, params.Only, params.State, params.Set, params.By = o.OneStep, o.Only, o.State, o.Set, "person"
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
	var r *graph.Result
	if child == nil && o.Fork != nil {
		r, err = graph.StartFork(ctx, g, it.Digest, *o.Fork, params)
	} else if resume != "" {
		r, err = graph.Resume(ctx, g, it.Digest, resume, params)
	} else {
		r, err = graph.Start(ctx, g, it.Digest, in.Parameters, params)
	}
	if r == nil {
		return nil, err
	}
	return r.Data(), err
}

// GraphParams returns what every run of a graph of this project needs.
func (p *Project) GraphParams(ctx context.Context, held policy.Held) (graph.Params, error) {
	signer, err := p.RuntimeKey(ctx)
	if err != nil {
		return graph.Params{}, err
	}
	out := graph.Params{
		Project: p.Spaces.ProjectDir, Dispatcher: graphDispatcher{p}, Held: held, Signer: signer, Keys: p.RuntimePublic,
		Getenv: p.Env.Getenv, Now: p.Env.Now,
	}
	if b, err := openat.ReadRegular(filepath.Join(p.Spaces.ProjectDir, lock.LockFile), lock.MaxLock); err == nil {
		out.Lock = item.DigestOf(b).String()
	}
	return out, nil
}

// VerifyRun verifies the log of a run.
func (p *Project) VerifyRun(ctx context.Context, id string) (*transcript.Report, error) {
	return transcript.Verify(ctx, transcript.Params{Project: p.Spaces.ProjectDir, ID: id, Keys: func(fp sign.Fingerprint) ([]byte, bool) { return p.RuntimePublic(fp) }})
}

// graphDispatcher calls items for graphs, by the verbs that every caller uses.
type graphDispatcher struct{ p *Project }

// Target implements graph.Dispatcher.
func (d graphDispatcher) Target(ctx context.Context, ref item.Ref) (graph.Target, error) {
	if ref.Kind != item.Tool {
		it, err := d.p.Resolver.Find(ctx, ref)
		if err != nil {
			return graph.Target{}, err
		}
		return graph.Target{Digest: it.Digest}, nil
	}
	chain, err := d.p.Executor.Chain(ctx, ref)
	if err != nil {
		return graph.Target{}, err
	}
	it := chain.Tool()
	t := graph.Target{Digest: it.Digest, Graph: IsGraph(it), Shell: shellParameters(it)}
	t.Pure = chain.Primitive().Ref.ID == exec.NativeStep && !t.Graph && (it.Declared() == "T0" || it.Declared() == "safe")
	return t, nil
}

// shellParameters returns the parameters of a tool that a shell reads.
func shellParameters(it *resolve.Item) map[string]bool {
	schema, _ := it.Meta.Fields["config_schema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	out := map[string]bool{}
	for name, v := range properties {
		if property, ok := v.(map[string]any); ok && property["x-rye-shell"] == true {
			out[name] = true
		}
	}
	return out
}

// Call implements graph.Dispatcher.
func (d graphDispatcher) Call(ctx context.Context, c graph.Call) (any, error) {
	if c.Verb != policy.Execute {
		return d.verb(ctx, c)
	}
	if c.Ref.Kind != item.Tool {
		return nil, diag.New(diag.ExecutionFailed, "calling %s: this version cannot follow a directive with a model", c.Ref)
	}
	ctx = context.WithValue(ctx, graphChildKey{}, c.Child)
	ctx = exec.WithIdempotencyKey(ctx, c.Key)
	run, err := d.p.Verbs.Tool(ctx, primary.Call{Ref: c.Ref, Held: c.Held, Params: c.Params})
	if err != nil {
		return nil, err
	}
	return run.Data, nil
}

// verb calls search, load or sign, as models do.
func (d graphDispatcher) verb(ctx context.Context, c graph.Call) (any, error) {
	w, err := d.p.workspace(ctx)
	if err != nil {
		return nil, err
	}
	args := c.Params
	args["item_type"] = string(c.Ref.Kind)
	if c.Ref.ID != "" {
		args["item_id"] = c.Ref.ID
	}
	raw, err := jsonx.Marshal(args)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "calling %s: %w", c.Verb, err)
	}
	env := w.Do(ctx, agent.Request{Name: string(c.Verb), Args: json.RawMessage(raw), Held: c.Held})
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
