package project

import (
	"context"
	"slices"
	"sync"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
)

// readAllowance is the allowance of an opened project. One run needs it several times.
type readAllowance struct {
	mu      sync.Mutex
	known   bool
	value   policy.Allowance
	origins []policy.Origin
}

// readSettings is a configuration of an opened project. One thread needs it several times.
type readSettings struct {
	id   string
	mu   sync.Mutex
	have *resolve.Settings
}

func (r *readSettings) read(ctx context.Context, from *resolve.Resolver) (*resolve.Settings, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	if r.have == nil {
		r.have, err = from.Config(ctx, r.id)
	}
	return r.have, err
}

// Allowance returns the most that agents and items may do without a person, and the
// file of each value, as they were when it was called first.
func (p *Project) Allowance(ctx context.Context) (policy.Allowance, []policy.Origin, error) {
	p.allowance.mu.Lock()
	defer p.allowance.mu.Unlock()
	if !p.allowance.known {
		layers, err := p.PolicyLayers()
		if err != nil {
			return policy.Allowance{}, nil, err
		}
		a, origins, err := resolve.Allowance(ctx, p.Resolver, layers)
		if err != nil {
			return policy.Allowance{}, nil, err
		}
		p.allowance.known, p.allowance.value, p.allowance.origins = true, a, origins
	}
	return p.allowance.value, slices.Clone(p.allowance.origins), nil
}

// forgetAllowance makes the next call of Allowance read the files again.
func (p *Project) forgetAllowance() {
	p.allowance.mu.Lock()
	defer p.allowance.mu.Unlock()
	p.allowance.known = false
}

// ceiling returns what the allowance permits the sandbox of every program.
func (p *Project) ceiling(ctx context.Context) (policy.Profile, error) {
	a, _, err := p.Allowance(ctx)
	return a.Sandbox.Ceiling(), err
}

// removed returns the rows of the protected paths that do not apply.
func (p *Project) removed(ctx context.Context) ([]string, error) {
	a, _, err := p.Allowance(ctx)
	return a.Sandbox.ProtectRemove, err
}

// unconfined reports whether the allowance names an item that signer signed.
func (p *Project) unconfined(ctx context.Context, ref item.Ref, signer string) (bool, error) {
	a, _, err := p.Allowance(ctx)
	return err == nil && a.Sandbox.Names(ref, signer, p.Env.Now()), err
}

// AgentSettings returns the configuration agent/mcp within the policy files, which
// narrow it, and the grants of a server. allowed is as in agent.ReadSettings.
func (p *Project) AgentSettings(ctx context.Context, allowed policy.Set) (*agent.Settings, policy.Held, error) {
	s, held, err := agent.ReadSettings(ctx, p.Resolver, allowed)
	if err != nil {
		return nil, nil, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, nil, err
	}
	if a.Sign != "" {
		s.Within(&agent.Settings{Sign: agent.SignMode(a.Sign)})
	}
	for _, list := range a.Capabilities {
		caps := policy.Set{} // an empty list permits nothing
		for _, c := range list {
			caps = append(caps, policy.Cap(c))
		}
		held = held.With(policy.Grant{Caps: caps, Source: "agents.capabilities of the policy files"})
	}
	return s, held, nil
}

// PolicyLayers returns the sections about agents of rye.yaml and of the policy files.
func (p *Project) PolicyLayers() ([]policy.Layer, error) {
	var m *lock.ProjectFile
	if p.Files != nil {
		var err error
		if m, _, err = lock.ReadProjectFile(p.Files, ""); err != nil {
			return nil, err
		}
	}
	var out []policy.Layer
	if m != nil {
		out = agentLayers(packages.Rules{{Path: lock.ProjectFileName, ProjectFile: m}})
	}
	return append(out, agentLayers(p.Rules)...), nil
}

func agentLayers(rules packages.Rules) []policy.Layer {
	var out []policy.Layer
	for _, f := range rules {
		if f.Agents != nil {
			out = append(out, policy.Layer{Name: f.Path, Doc: f.Agents.Doc, At: f.Agents.At})
		}
	}
	return out
}

// toolsDir returns the directory in which tools write, "" if they see an empty one.
func toolsDir(p *Project) string {
	switch {
	case p.Copied != nil:
		return p.Copied.Dir()
	case p.SeenDir != nil && p.SeenDir.Empty:
		return ""
	}
	return p.worksAt()
}
