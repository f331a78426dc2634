package surface

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/filestamp"
	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// freshFor is how long a server reuses an opened project at most. Changed trust documents,
// locks and settings take effect at once, changed files of bundles after it. Items are
// read for each call.
const freshFor = 250 * time.Millisecond

// maxOpen is how many projects a server remembers.
const maxOpen = 64

// AgentSurface returns the verbs, prompts and resources that a server offers to
// agents. allowed are the capabilities that the user named at its start, nil for the
// capabilities of the settings. Projects outside the directory within are refused unless
// within is "".
func AgentSurface(e *project.Env, allowed policy.Set, within string) *agent.Surface {
	base := *e
	base.Surface = auditlog.SurfaceMCP
	base.Listings = &sandbox.Listings{}
	// stdin carries the protocol
	base.Person.Secret = nil
	base.Person.Asks = false
	p := &agentProjects{
		base:    &base,
		allowed: allowed,
		within:  within,
		cache:   agent.NewCache(),
		open:    once.Map[string, *agentProject]{Max: maxOpen},
	}
	return agent.NewSurface(agent.SurfaceParams{Open: p.at, Home: e.Home()})
}

// agentProjects opens projects for a server and keeps each for freshFor.
type agentProjects struct {
	base    *project.Env
	allowed policy.Set
	within  string

	cache *agent.Cache
	open  once.Map[string, *agentProject]
	warns sync.Once // of a key that agents could use
}

// agentProject is one project that a server keeps.
type agentProject struct {
	since     time.Time
	decided   *filestamp.Set // the files that were read when the project was opened
	within    agent.SignMode // of the settings that narrowed it
	workspace *agent.Workspace
	held      policy.Held // what the configuration of the project permits to clients
	project   *project.Project
	index     *search.Index // outlives the opened project, so that unchanged items are not read again
}

// at returns a project and what a client of the server may do there. In another
// project than the server's own both must permit a call.
func (p *agentProjects) at(ctx context.Context, project string) (*agent.Workspace, policy.Held, error) {
	if project == "" {
		return p.opened(ctx, p.base, nil)
	}
	dir, err := p.check(project)
	if err != nil {
		return nil, nil, err
	}
	bound, held, err := p.opened(ctx, p.base, nil)
	if err != nil {
		return nil, nil, err
	}
	w, others, err := p.opened(ctx, p.base.In(dir), bound.Settings)
	for _, g := range others {
		held = held.With(g)
	}
	return w, held, err
}

// opened returns the workspace of a call's project, at most freshFor old, and opened
// after the last change of its trust, lock and settings. within, if it is not nil, narrows
// its settings.
func (p *agentProjects) opened(
	ctx context.Context,
	e *project.Env,
	within *agent.Settings,
) (*agent.Workspace, policy.Held, error) {
	o, err := p.open.GetFact(ctx, e.Named, once.Fact[*agentProject]{
		Find: func(former *agentProject) (*agentProject, error) {
			return p.reopen(ctx, e, former, within)
		},
		Valid: func(o *agentProject) bool {
			if within != nil && o.within != within.Sign {
				return false
			}
			return o.usable(e, e.Now())
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return o.workspace, o.held, nil
}

// reopen opens a project for calls of agents. The former one, or nil, has the index of its items.
func (p *agentProjects) reopen(
	ctx context.Context,
	e *project.Env,
	former *agentProject,
	within *agent.Settings,
) (*agentProject, error) {
	o := &agentProject{since: e.Now()}
	if former != nil {
		o.index = former.index
	}
	before := time.Now() // by the clock of the files
	var err error
	o.workspace, o.held, err = openForAgents(ctx, e, o, p.allowed, within)
	if err != nil {
		return nil, err
	}
	o.workspace.Cache = p.cache
	if within != nil {
		o.within = within.Sign
	}
	o.decided = filestamp.Take(before, decidedBy(o.project))
	p.warns.Do(func() {
		warnOfOpenKey(o.project, o.held)
	})
	return o, nil
}

// usable reports whether a call can use the opened project. Without a project it is looked
// for on each call: rye init may come after the start of the server.
func (o *agentProject) usable(e *project.Env, now time.Time) bool {
	switch {
	case o.project.Spaces.ProjectDir == "" && projectAbove(e):
		return false
	case now.Sub(o.since) > freshFor, now.Before(o.since):
		return false
	}
	return o.decided.Same()
}

// decidedBy returns the files and directories that are read once for an opened project
// and decide what it trusts and permits.
func decidedBy(p *project.Project) []string {
	t := p.TrustParams
	out := append(
		slices.Concat(t.SystemDirs, t.RootPaths),
		t.UserDir,
		t.LegacyDir,
		t.StateDir,
		p.Dirs.Config,
	)
	if t.ProjectDir != "" {
		out = append(out, t.ProjectDir, filepath.Join(filepath.Dir(t.ProjectDir), "trusted_keys"))
	}
	if dir := p.Env.MachineDir(); dir != "" {
		out = append(out, filepath.Join(dir, lock.PolicyFile))
	}
	for _, root := range p.Spaces.Roots {
		if !root.OnDisk() || root.Bundled() {
			continue
		}
		out = append(out, root.Path("config"))
		for _, name := range []string{lock.ProjectFileName, lock.LockFile, lock.SumFile} {
			out = append(out, filepath.Join(project.LockDir(root), name))
		}
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}

// projectAbove reports whether the directory of e or one above it is a project now.
func projectAbove(e *project.Env) bool {
	reserved := e.SpaceParams().Reserved
	for dir := e.Base; ; dir = filepath.Dir(dir) {
		if space.IsProject(dir) && reserved(dir) == "" {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// check returns the real path of a project. It is an error if the directory is not
// a project or is outside the server's directory.
func (p *agentProjects) check(project string) (string, error) {
	doing := "opening project_path"
	real, err := filepath.EvalSymlinks(project)
	if p.within != "" {
		root, rerr := filepath.EvalSymlinks(p.within)
		rel, lerr := filepath.Rel(root, real)
		if err != nil || rerr != nil || lerr != nil || !filepath.IsLocal(rel) {
			return "", diag.New(diag.PermissionDenied, "%s: %q is outside the directory that this server was started for", doing, project).WithReason("project_outside")
		}
	}
	if err != nil || !space.IsProject(real) {
		return "", diag.New(diag.ItemNotFound, "%s: %q has no %s and no %s directory", doing, project, space.ProjectFile, space.Dir).
			WithReason("project_path")
	}
	what := p.base.SpaceParams().Reserved(real)
	if at, inside := policy.Internal(real); inside && what == "" {
		what = "inside " + at
	}
	if what != "" {
		return "", diag.New(diag.ItemNotFound, "%s: %q is %s, which is never a project", doing, project, what).WithReason("project_path")
	}
	return real, nil
}

// openForAgents opens the project for calls of agents.
func openForAgents(
	ctx context.Context,
	e *project.Env,
	o *agentProject,
	allowed policy.Set,
	within *agent.Settings,
) (*agent.Workspace, policy.Held, error) {
	h, err := e.Open(ctx, project.Strict)
	if err != nil {
		return nil, nil, err
	}
	if o.index == nil {
		p := h.IndexParams()
		p.Fresh = freshFor
		o.index = search.New(p)
	}
	h.Index = o.index.Over(h.Resolver)
	o.project = h
	settings, held, err := h.AgentSettings(ctx, allowed)
	if err != nil {
		return nil, nil, err
	}
	if within != nil {
		settings.Within(within)
	}
	h.Verbs = h.NewVerbs()
	h.Settings = settings
	w, err := h.Workspace(ctx, exec.Call{})
	return w, held, err
}

// Workspace returns the project as the agents' verbs see it, with the settings of the server
// that opened it, also if a tool calls a verb as a tool; without a server they are the
// project's own.
func Workspace(ctx context.Context, p *project.Project, within exec.Call) (*agent.Workspace, error) {
	s := p.Settings
	if s == nil {
		var err error
		if s, _, err = p.AgentSettings(ctx, nil); err != nil {
			return nil, err
		}
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	return &agent.Workspace{
		Verbs:      p.Verbs,
		Settings:   s,
		AskTimeout: a.Approvals.Timeout(project.AtTerminal(p, within)),
		Signer: func(ctx context.Context) (sign.Signer, error) {
			return agentsKey(ctx, p)
		},
		May: func(fp sign.Fingerprint, ref item.Ref) bool {
			k, ok := p.Trust.Key(fp)
			return ok &&
				k.Agent() &&
				k.Scope.Allows(string(ref.Kind), ref.ID, "sign")
		},
		Signed: func(ctx context.Context, reports []primary.SignReport) error {
			return relock.Refresh(ctx, p, reports)
		},
		Registry: items.RegistryItems(p),
	}, nil
}

// agentsKey returns the user's own key that agents may sign with.
func agentsKey(ctx context.Context, p *project.Project) (sign.Signer, error) {
	for _, k := range p.Trust.Keys() {
		if k.Own && k.Agent() && k.State.Usable() {
			return p.Keys.SignerOf(ctx, k.Fingerprint)
		}
	}
	return nil, diag.New(diag.AuthRequired, "choosing a key: there is no agent's key, and an agent never signs with a person's").WithReason("no_agent_key")
}
