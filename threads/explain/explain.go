package explain

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/transcript"
)

// Plan is what a thread of a directive would use, without starting it.
type Plan struct {
	Ref       string              `json:"ref"`
	Directive primary.Element     `json:"directive"`
	Extends   []primary.Element   `json:"extends"`
	Inputs    map[string]any      `json:"inputs"`
	Outputs   []item.Input        `json:"outputs"`
	NoModel   string              `json:"no_model,omitempty"` // why none can be used here
	Models    []PlannedModel      `json:"models"`             // the first is used, the others are its fallbacks
	Limits    threads.Limits      `json:"limits"`
	Permits   []string            `json:"capabilities"`
	Sandbox   *policy.Profile     `json:"sandbox,omitempty"`
	Tools     []PlannedTool       `json:"tools"`
	Hooks     []string            `json:"hooks"`
	Context   []string            `json:"context"`
	Checks    []string            `json:"checks"`
	Logs      string              `json:"logs"` // the directory with the log of the thread
	Workspace threads.WorkingCopy `json:"workspace"`
	Dir       string              `json:"directory"`               // that its tools see
	Why       string              `json:"directory_why,omitempty"` // why they see an empty one
	Loop      threads.Identity    `json:"loop"`
	Steps     []threads.Identity  `json:"steps"`
	Findings  []diag.Finding      `json:"findings,omitempty"` // permissions that offer nothing
}

// PlannedModel is a model of a plan.
type PlannedModel struct {
	Provider  threads.Identity      `json:"provider"`
	Model     string                `json:"model"`
	Tier      string                `json:"tier,omitempty"`
	Window    int64                 `json:"window"`
	MaxOutput int64                 `json:"max_output"`
	Host      string                `json:"host,omitempty"` // that receives the requests
	Prices    modelhost.ModelPrices `json:"prices"`
}

// PlannedTool is a tool that the model is offered.
type PlannedTool struct {
	Name   string      `json:"name"`
	Ref    string      `json:"ref,omitempty"`
	Tier   policy.Tier `json:"tier"`
	Signer string      `json:"signer,omitempty"`
	Space  string      `json:"space,omitempty"`
	Hosts  []string    `json:"hosts,omitempty"` // that its item names
}

// Thread returns the plan of a thread: the items, model and limits that it would use.
func Thread(ctx context.Context, p *project.Project, o *threadhost.Options) (*Plan, error) {
	p, err := threadhost.Planned(ctx, p, o)
	if err != nil {
		return nil, err
	}
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return nil, err
	}
	r := &threadhost.Run{Prepared: prepared, Project: p, Options: o}
	d := prepared.Directive
	out := &Plan{
		Ref:       prepared.Ref,
		Directive: primary.ElementOf(prepared.Item),
		Extends:   []primary.Element{},
		Inputs:    prepared.Inputs,
		Outputs:   d.Outputs,
		Limits:    prepared.Limits,
		Permits:   d.Permissions.Texts(),
		Sandbox:   d.Permissions.Sandbox,
		Hooks:     []string{},
		Context:   []string{},
		Checks:    []string{},
		Loop:      threads.Identity{Ref: prepared.Loop.Ref.String(), Digest: prepared.Loop.Digest},
		Logs:      filepath.Join(p.Spaces.ProjectDir, filepath.FromSlash(transcript.Dir)),
		Workspace: copies.WorkingCopy(p),
		Dir:       p.ToolDir(),
	}
	if p.SeenDir != nil {
		out.Why = p.SeenDir.Why
	}
	if prepared.NoModel != nil {
		out.NoModel = diag.Typed(prepared.NoModel).Error()
	}
	out.Findings = primary.CheckPermits(ctx, p.Resolver, prepared.Item)
	for _, b := range prepared.Bases {
		out.Findings = append(out.Findings, primary.CheckPermits(ctx, p.Resolver, b)...)
		out.Extends = append(out.Extends, primary.ElementOf(b))
	}
	for _, s := range prepared.Services {
		m, err := plannedModel(ctx, r, s)
		if err != nil {
			return nil, err
		}
		out.Models = append(out.Models, m)
	}
	for _, h := range d.Hooks {
		out.Hooks = append(
			out.Hooks,
			h.Event+" "+string(h.Action.Primary)+" "+h.Action.ID,
		)
	}
	for _, c := range d.Context {
		out.Context = append(out.Context, c.Ref.String())
	}
	for _, c := range d.Checks {
		out.Checks = append(out.Checks, c.Tool)
	}
	if out.Tools, err = plannedTools(ctx, r); err != nil {
		return nil, err
	}
	out.Steps, err = threadhost.LoopSteps(ctx, p, prepared.Loop)
	return out, err
}

// plannedModel describes a model with the host and the prices of its provider.
func plannedModel(ctx context.Context, r *threadhost.Run, s *threads.Service) (PlannedModel, error) {
	out := PlannedModel{
		Provider:  threads.Identity{Ref: s.Provider.String(), Digest: s.Digest},
		Model:     s.Model,
		Tier:      s.Tier,
		Window:    s.Window,
		MaxOutput: s.MaxOutput,
	}
	f, err := modelhost.Find(ctx, r.Project, s.Provider.ID)
	if err != nil {
		return out, err
	}
	age, err := modelhost.PricesAge(ctx, r.Project)
	if err != nil {
		return out, err
	}
	m, err := f.Config.Model(s.Model)
	if err != nil {
		return out, err
	}
	out.Prices = modelhost.PricesOf(f.Config, m, r.Project.Env.Now(), age)
	chain, err := r.Project.Executor.Chain(ctx, s.Provider)
	if err != nil {
		return out, err
	}
	plan, err := r.Project.Executor.Plan(
		ctx,
		chain,
		exec.Call{Held: r.LoopHeld},
		map[string]any{},
	)
	if err != nil || plan.Native == nil {
		return out, err
	}
	address, _ := plan.Native.Config["url"].(string)
	u, err := url.Parse(os.Expand(address, func(name string) string {
		return plan.Native.Env[name]
	}))
	if err == nil {
		out.Host = u.Host
	}
	return out, nil
}

// hostsOf returns the hosts that an item names: of its requests, and of its sandbox.
func hostsOf(it *resolve.Item) []string {
	var out []string
	for _, key := range []string{"config", "sandbox"} {
		m, _ := it.Meta.Fields[key].(map[string]any)
		list, _ := m["hosts"].([]any)
		for _, v := range list {
			host, ok := v.(string)
			if ok && !slices.Contains(out, host) {
				out = append(out, host)
			}
		}
	}
	return out
}

func plannedTools(ctx context.Context, r *threadhost.Run) ([]PlannedTool, error) {
	prompt, err := r.Compose(ctx)
	if err != nil {
		return nil, err
	}
	out := []PlannedTool{}
	for _, o := range prompt.Tools {
		t := PlannedTool{Name: o.Name, Ref: o.Ref, Tier: o.Tier}
		ref, err := item.ParseRef(o.Ref, item.Tool)
		if err == nil && o.Ref != "" {
			it, err := r.Project.Resolver.Find(ctx, ref)
			if err == nil {
				t.Signer, t.Space, t.Hosts = it.Verdict.Signer.String(), it.Root.Label(), hostsOf(it)
			}
		}
		out = append(out, t)
	}
	return out, nil
}
