package project

import (
	"context"
	"slices"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
)

// readAllowance is the allowance of an opened project. One run needs it several times.
type readAllowance struct {
	value   policy.Allowance
	origins []policy.Origin
}

// Allowance returns the most that agents and items may do without a person, and the
// file of each value, as they were when it was called first.
func (p *Project) Allowance(ctx context.Context) (policy.Allowance, []policy.Origin, error) {
	read, err := p.allowance.Get(ctx, struct{}{}, func() (readAllowance, error) {
		layers, err := p.PolicyLayers()
		if err != nil {
			return readAllowance{}, err
		}
		value, origins, err := resolve.Allowance(ctx, p.Resolver, layers)
		return readAllowance{value, origins}, err
	})
	return read.value, slices.Clone(read.origins), err
}

// ForgetAllowance makes the next call of Allowance read the files again.
func (p *Project) ForgetAllowance() {
	p.allowance.Forget(struct{}{})
}

// ceiling returns the profile that the allowance permits the sandbox of every program.
func (p *Project) ceiling(ctx context.Context) (policy.Profile, error) {
	a, _, err := p.Allowance(ctx)
	return a.Sandbox.Ceiling(), err
}

// Removed returns the rows of the protected paths that do not apply.
func (p *Project) Removed(ctx context.Context) ([]string, error) {
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

// ToolsDir returns the directory in which tools write, "" if they see an empty one.
func ToolsDir(p *Project) string {
	switch {
	case p.Copied != nil:
		return p.Copied.Dir()
	case p.SeenDir != nil && p.SeenDir.Empty:
		return ""
	}
	return p.worksAt()
}
