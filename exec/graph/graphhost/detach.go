package graphhost

import (
	"context"
	"io"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/control"
)

// detachedRun is what the process of a detached run reads from its stdin.
type detachedRun struct {
	RunID     string         `json:"run_id"`
	Ref       string         `json:"ref"`
	Params    map[string]any `json:"params"`
	NoSuspend bool           `json:"no_suspend"`
	Locked    bool           `json:"locked"`
	Unlocked  bool           `json:"unlocked"`
}

// StartDetached starts a run of a graph in a process of its own, which outlives this
// one and its session. args are the words with which this program runs RunDetached.
// It returns when the log has the start of the run.
func StartDetached(
	ctx context.Context,
	p *project.Project,
	call primary.Call,
	o Options,
	args []string,
) (*graph.Summary, error) {
	call.DryRun = true
	run, err := p.Verbs.Tool(ctx, call)
	if err != nil {
		return nil, err
	}
	it := run.Plan.Chain.Tool()
	if p.Spaces.ProjectDir == "" {
		return nil, diag.New(diag.ConfigError, "running %s: a run is recorded in a project, and this directory is not in a project", it.Ref).WithReason("no_project")
	}
	g, findings := Parse(it)
	if g == nil {
		return nil, diag.FromFindings("reading the graph "+it.Ref.String(), findings)
	}
	if o.Warn != nil {
		for _, f := range findings {
			o.Warn(f)
		}
	}
	d := detachedRun{
		RunID:     graph.NewID(it.Ref.ID, p.Env.Now()),
		Ref:       it.Ref.String(),
		Params:    run.Plan.Parameters,
		NoSuspend: o.NoSuspend,
		Locked:    p.Env.Locked,
		Unlocked:  p.Env.Unlocked,
	}
	input, err := jsonx.Marshal(d)
	if err != nil || len(input) > control.MaxDetach {
		return nil, diag.New(diag.TooLarge, "starting %s: the inputs have more than %d bytes", it.Ref, control.MaxDetach)
	}
	return control.Detach(ctx, p, d.RunID, input, args)
}

// RunDetached is the body of the process of a detached run.
func RunDetached(ctx context.Context, e *project.Env, in io.Reader) error {
	m, err := control.ReadStart(in)
	if err != nil {
		return err
	}
	id, ref, err := m.Named("run_id", item.Tool)
	if err != nil {
		return err
	}
	p, err := control.OpenDetached(ctx, e, id, m)
	if err != nil {
		return err
	}
	p = WithOptions(p, Options{RunID: id, NoSuspend: m.Flag("no_suspend")})
	_, err = p.Verbs.Tool(ctx, primary.Call{Ref: ref, Held: policy.Person(), Params: m.Object("params")})
	return err
}
