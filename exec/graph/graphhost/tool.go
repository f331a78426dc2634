package graphhost

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
)

// Tool is the function of the tool with which models handle runs. Its caller
// needs the capability for the tool, and passes the gates of every item that a resumed
// run calls. A caller that is not a person reaches the runs that it started.
func Tool(ctx context.Context, p *project.Project, in exec.NativeCall) (map[string]any, error) {
	call := graphsCall{p: p, in: in}
	operation := call.text("operation")
	switch operation {
	case "validate", "show":
		return call.graph(ctx, operation)
	case "list":
		return call.list(ctx)
	}
	id, err := call.run(ctx)
	if err != nil {
		return nil, err
	}
	switch operation {
	case "status":
		s, err := graph.Status(ctx, p.Spaces.ProjectDir, id)
		if err != nil {
			return nil, err
		}
		return jsonx.Object(s)
	case "log":
		l, err := graph.ReadLog(p.Spaces.ProjectDir, id)
		if err != nil {
			return nil, err
		}
		return jsonx.Object(l)
	}
	return call.walk(ctx, operation, id)
}

type graphsCall struct {
	p  *project.Project
	in exec.NativeCall
}

func (c graphsCall) text(name string) string {
	s, _ := c.in.Parameters[name].(string)
	return s
}

// graph checks or draws a graph. The caller must be permitted to load it.
func (c graphsCall) graph(ctx context.Context, operation string) (map[string]any, error) {
	if c.text("graph") == "" {
		return nil, diag.New(diag.Usage, "%s of rye/core/graphs/graphs: the parameter graph is missing", operation)
	}
	ref, err := item.ParseRef(c.text("graph"), item.Tool)
	if err != nil {
		return nil, err
	}
	if err := c.in.Held.Allows(policy.Load, ref); err != nil {
		return nil, err
	}
	if operation == "validate" {
		findings, err := Validate(ctx, c.p, ref)
		if err != nil {
			return nil, err
		}
		if hint := c.p.Env.Hint; hint != nil {
			for i, f := range findings {
				findings[i].Fix = hint(f)
			}
		}
		return jsonx.Object(map[string]any{"graph": ref.String(), "valid": !diag.Failed(findings), "findings": append([]diag.Finding{}, findings...)})
	}
	it, err := c.p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !itemcheck.IsGraph(it) {
		return nil, diag.New(diag.Usage, "showing %s: it is not a graph", ref).
			WithReason("not_graph").
			WithDetail("ref", ref.String())
	}
	g, findings := Parse(it)
	if g == nil {
		return nil, diag.FromFindings("reading the graph "+ref.String(), findings)
	}
	return map[string]any{"graph": ref.String(), "picture": g.Terminal(graphdef.Ran{})}, nil
}

func (c graphsCall) list(ctx context.Context) (map[string]any, error) {
	all, err := graph.List(ctx, c.p.Spaces.ProjectDir)
	if err != nil {
		return nil, err
	}
	runs := slices.DeleteFunc(all, func(s *graph.Summary) bool {
		return !c.reaches(ctx, s)
	})
	return jsonx.Object(map[string]any{"runs": append([]*graph.Summary{}, runs...)})
}

// reaches reports whether the caller may name a run.
func (c graphsCall) reaches(ctx context.Context, s *graph.Summary) bool {
	return IsPerson(c.in.Call) || s.StartedBy(c.in.Held)
}

// IsPerson reports whether a call has the permissions of a user at a terminal and no
// others, and is not the call of a node: the author of a graph does not decide for the
// person who runs it.
func IsPerson(c exec.Call) bool {
	return c.Run == "" &&
		len(c.Held) == 1 &&
		c.Held[0].Source == policy.Person()[0].Source
}

// run returns the id of the run that the call names. A run that the caller does not
// reach does not exist for it.
func (c graphsCall) run(ctx context.Context) (string, error) {
	word := c.text("run_id")
	if word == "" {
		return "", diag.New(diag.Usage, "%s of rye/core/graphs/graphs: the parameter run_id is missing", c.text("operation"))
	}
	id, err := graph.Find(c.p.Spaces.ProjectDir, word)
	if err == nil {
		var s *graph.Summary
		if s, err = graph.Status(ctx, c.p.Spaces.ProjectDir, id); err == nil &&
			c.reaches(ctx, s) {
			return id, nil
		}
	}
	if err != nil &&
		diag.CodeOf(err) != diag.ThreadNotFound &&
		(IsPerson(c.in.Call) || diag.CodeOf(err) != diag.AmbiguousItem) {
		return "", err
	}
	return "", diag.New(diag.ThreadNotFound, "finding the run %q: no run that you started has this id", word).
		WithReason("no_run").
		WithDetail("id", word)
}

// walk continues or forks a run with the permissions of the caller.
func (c graphsCall) walk(ctx context.Context, operation, id string) (map[string]any, error) {
	set, _ := c.in.Parameters["set"].(map[string]any)
	if err := c.maySet(ctx, id, set); err != nil {
		return nil, err
	}
	o := Options{By: "person"}
	if !IsPerson(c.in.Call) {
		o.By = "agent"
	}
	var call primary.Call
	var err error
	answered := c.in.Asking // a client that brings an answer repeats the call
	if operation == "fork" && (answered == nil || answered.Run == "") {
		if c.text("at") == "" {
			return nil, diag.New(diag.Usage, "fork of rye/core/graphs/graphs: the parameter at is missing")
		}
		o.Fork = &graph.Fork{Run: id, At: c.text("at"), Set: set}
		call, err = control.ForkCall(ctx, c.p, id)
	} else {
		o.OneStep = operation == "step"
		o.Set = set
		if o.Resume, call, err = control.ResumeCall(ctx, c.p, id); err == nil && o.Resume != id {
			err = c.mayResume(ctx, o.Resume)
		}
	}
	if err != nil {
		return nil, err
	}
	call.Held = c.in.Held
	call.Within = c.in.Call
	run, err := below(c.p, o).Verbs.Tool(ctx, call)
	data, _ := run.Data.(map[string]any)
	return data, err
}

// mayResume returns an error if the caller does not reach the run that waits for one
// that it reaches.
func (c graphsCall) mayResume(ctx context.Context, id string) error {
	s, err := graph.Status(ctx, c.p.Spaces.ProjectDir, id)
	if err == nil && !c.reaches(ctx, s) {
		err = diag.New(diag.ThreadState, "continuing a run: the run that waits for it is another caller's").
			WithReason("running").
			WithDetail("id", id)
	}
	return err
}

// maySet returns nil if the caller may write values into the state of a run: a person,
// or an agent whose user agrees. It is like a call of the tier T3 without a sandbox.
func (c graphsCall) maySet(ctx context.Context, id string, set map[string]any) error {
	if len(set) == 0 || IsPerson(c.in.Call) {
		return nil
	}
	var values []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		b, err := jsonx.Marshal(set[k])
		if err != nil {
			return diag.New(diag.ValidationFailed, "setting %s: %w", k, err)
		}
		values = append(values, k+" = "+string(b))
	}
	return MayAs(ctx, c.p, c.in, policy.Call{Rating: policy.Rating{Class: policy.T3, Tier: policy.T3, Why: "it sets the state of a run"}},
		fmt.Sprintf("Set the state of the run %s? %s", id, hidden.Visible(strings.Join(values, ", "))),
		diag.New(diag.ApprovalRequired, "setting the state of %s: a person decides about it, and rye cannot ask one here", id).WithReason("run_set").WithDetail("run_id", id))
}

// MayAs returns nil if a call of a tool may do what another call may, as the allowance
// decides or a person answers. unasked is the error if a person must decide and cannot be asked.
func MayAs(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
	as policy.Call,
	question string,
	unasked error,
) error {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return err
	}
	as.Ref, as.Now = in.Chain.Tool().Ref, p.Env.Now()
	d := a.Decide(as)
	switch {
	case d.Action == policy.Run:
		return nil
	case d.Action == policy.Refuse:
		return d.Err()
	case in.Ask == nil:
		return unasked
	}
	tool := in.Chain.Tool()
	q := &threads.Question{
		Tier:       d.Tier.String(),
		Text:       question,
		Capability: d.Capability(),
		Digest:     tool.Digest,
		Timeout:    d.Timeout,
	}
	asked := project.CallQuestion{Recorded: q, Shown: exec.Asked{Question: q.Text}}
	switch r, err := Confirm(ctx, p, in.Call, asked); {
	case err != nil:
		return err
	case r == nil:
		return unasked
	case r.Late():
		return d.Late(d.Timeout)
	case r.Unasked():
		return unasked
	case r.Decision == threads.Deny:
		return d.Denied(r.Feedback)
	}
	return nil
}
