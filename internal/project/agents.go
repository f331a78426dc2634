package project

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// freshFor is how long a server takes a house for the state of the world: trust
// documents, locks and bundles that change are seen after it. Items are read
// for each call.
const freshFor = 250 * time.Millisecond

// maxOpen is how many projects a server remembers.
const maxOpen = 64

// verbs returns what a server offers to agents: the four verbs, directives and
// knowledge. allowed are the capabilities that the person who starts it names,
// nil for those of the settings. Places outside within are refused, unless
// it is "".
func (e *Env) AgentSurface(allowed policy.Set, within string) *agent.Surface {
	base := *e
	base.Surface = surfaceMCP
	base.Person.Secret, base.Person.Asks = nil, false // stdin carries the protocol
	p := &places{base: &base, allowed: allowed, within: within, open: map[string]*opened{}}
	return agent.NewSurface(agent.SurfaceParams{Open: p.at, Home: e.Home()})
}

// places opens projects for a server and keeps each for a moment.
type places struct {
	base    *Env
	allowed policy.Set
	within  string

	mu    sync.Mutex
	open  map[string]*opened
	warns sync.Once // of a key that agents could use
}

type opened struct {
	mu    sync.Mutex
	since time.Time
	place *agent.Workspace
	house *Project
	index *search.Index // knows what it read before, whatever house asks it
}

func (p *places) at(ctx context.Context, project string) (*agent.Workspace, error) {
	if project == "" {
		return p.opened(ctx, p.base, nil)
	}
	dir, err := p.check(project)
	if err != nil {
		return nil, err
	}
	own, err := p.opened(ctx, p.base, nil)
	if err != nil {
		return nil, err
	}
	return p.opened(ctx, p.base.at(dir), own.Settings)
}

// opened returns the place of a call's project, as it is now or was a moment
// ago. What within does not allow is not allowed there either.
func (p *places) opened(ctx context.Context, e *Env, within *agent.Settings) (*agent.Workspace, error) {
	p.mu.Lock()
	if len(p.open) > maxOpen {
		clear(p.open)
	}
	o := p.open[e.Named]
	if o == nil {
		o = &opened{}
		p.open[e.Named] = o
	}
	p.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := e.Now(); o.place == nil || now.Sub(o.since) > freshFor || now.Before(o.since) {
		place, err := e.agentPlace(ctx, o, p.allowed, within)
		if err != nil {
			return nil, err
		}
		o.place, o.since = place, now
		p.warns.Do(func() { o.house.warnOfOpenKey(place.Settings) })
	}
	return o.place, nil
}

// check returns the real path of a project, and refuses one that is none, or
// that lies where the server may not go.
func (p *places) check(project string) (string, error) {
	doing := "opening project_path"
	real, err := filepath.EvalSymlinks(project)
	if p.within != "" {
		root, rerr := filepath.EvalSymlinks(p.within)
		rel, lerr := filepath.Rel(root, real)
		if err != nil || rerr != nil || lerr != nil || !filepath.IsLocal(rel) {
			return "", diag.New(diag.PermissionDenied, "%s: %q lies outside the folder that this server was started for", doing, project).WithReason("project_outside")
		}
	}
	if fi, serr := os.Stat(filepath.Join(real, space.Dir)); err != nil || serr != nil || !fi.IsDir() {
		return "", diag.New(diag.ItemNotFound, "%s: %q holds no %s folder", doing, project, space.Dir).WithReason("project_path")
	}
	return real, nil
}

// agentPlace builds a house for calls of agents.
func (e *Env) agentPlace(ctx context.Context, o *opened, allowed policy.Set, within *agent.Settings) (*agent.Workspace, error) {
	h, err := e.Open(ctx, Strict)
	if err != nil {
		return nil, err
	}
	if o.index == nil {
		p := h.IndexParams()
		p.Fresh = freshFor
		o.index = search.New(p)
	}
	h.index, o.house = o.index.Over(h.Resolver), h
	settings, err := agent.ReadSettings(ctx, h.Resolver, allowed)
	if err != nil {
		return nil, err
	}
	if within != nil {
		settings.Within(within)
	}
	h.Verbs, h.settings = h.newVerbs(settings.Caller), settings
	return h.place(ctx)
}

// place returns where the verbs work on a house: under the settings of the
// server that opened it, also when a tool calls them as tools, else under those
// of its own layers.
func (p *Project) place(ctx context.Context) (*agent.Workspace, error) {
	s := p.settings
	if s == nil {
		var err error
		if s, err = agent.ReadSettings(ctx, p.Resolver, nil); err != nil {
			return nil, err
		}
	}
	return &agent.Workspace{
		Verbs: p.Verbs, Settings: s,
		Signer: func(ctx context.Context) (sign.Signer, error) { return p.agentsKey(ctx) },
		May: func(fp sign.Fingerprint, ref item.Ref) bool {
			k, ok := p.Trust.Key(fp)
			return ok && k.Agent() && k.Scope.Allows(string(ref.Kind), ref.ID, "sign")
		},
		Signed: func(ctx context.Context, reports []primary.SignReport) error { return p.RefreshLock(ctx, reports) },
	}, nil
}

// agentsKey returns the user's own key that agents may sign with.
func (p *Project) agentsKey(ctx context.Context) (sign.Signer, error) {
	for _, k := range p.Trust.Keys() {
		if k.Own && k.Agent() && k.State.Usable() {
			return p.SignerOf(ctx, k.Fingerprint)
		}
	}
	return nil, diag.New(diag.AuthRequired, "choosing a key: there is no agent's key, and an agent never signs with a person's").WithReason("no_agent_key")
}
