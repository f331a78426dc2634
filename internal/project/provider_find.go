package project

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/provider"
)

// FoundProvider is a provider item as it is used.
type FoundProvider struct {
	Item   *resolve.Item
	Config *provider.Config
	Why    error // why it cannot be used here; nil if it can
}

// Provider finds a provider item, and reports whether the allowance permits it and its
// keys are present.
func (p *Project) Provider(ctx context.Context, id string) (*FoundProvider, error) {
	ref, err := item.ParseRef(id, item.Tool)
	if err != nil {
		return nil, diag.New(diag.Usage, "reading the provider %q: %w", id, err)
	}
	chain, err := p.Executor.Chain(ctx, ref)
	if err != nil {
		return nil, err
	}
	it := chain.Tool()
	if it.Meta.ToolType != exec.ProviderType {
		return nil, diag.New(diag.ConfigError, "using %s as a provider: its tool_type is %q, not %s", it.Ref, it.Meta.ToolType, exec.ProviderType)
	}
	f := &FoundProvider{Item: it}
	if f.Config, err = p.PricedProvider(ctx, it); err != nil {
		return nil, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := p.missingKeys(f.Config.Keys)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Config.Program != nil && p.notInstalled(f.Config) != "":
		f.Why = diag.New(
			diag.AuthRequired,
			"using %s: %s is not installed, or not in the PATH",
			it.Ref,
			p.notInstalled(f.Config),
		).
			WithReason("no_program")
	case !a.AllowsProvider(it.Ref.ID):
		f.Why = diag.New(diag.PolicyDenied, "using %s: providers of config:%s does not permit it", it.Ref, policy.AllowanceID)
	case len(missing) > 0:
		f.Why = diag.New(
			diag.AuthRequired,
			"using %s: the environment lacks %s",
			it.Ref,
			strings.Join(missing, ", "),
		).
			WithReason("no_provider").
			WithDetail("missing", missing)
	}
	return f, nil
}

// NamedProvider returns the provider that a person or a directive names: by its id, or by the
// last part of an id below ProviderDir, as the commands for providers accept it.
func (p *Project) NamedProvider(ctx context.Context, name string) (*FoundProvider, error) {
	f, err := p.Provider(ctx, name)
	if diag.CodeOf(err) != diag.ToolNotFound {
		return f, err
	}
	s, err := p.FindProvider(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.Provider(ctx, s.Ref)
}

// notInstalled returns the program of a provider if this machine does not have it.
func (p *Project) notInstalled(c *provider.Config) string {
	if c.Program == nil {
		return ""
	}
	_, err := proc.LookPath(c.Program.Command[0], p.Outside(proc.Base(p.Env.Environ())))
	if err != nil {
		return c.Program.Command[0]
	}
	return ""
}

// ProviderKeys returns the values of the keys of the providers of a thread.
func (p *Project) ProviderKeys(ctx context.Context, services []*threads.Service) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range services {
		f, err := p.Provider(ctx, s.Provider.ID)
		if err != nil {
			return nil, err
		}
		found, err := p.Env.KeyValues(f.Config.Keys)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, found)
	}
	return out, nil
}

// missingKeys returns the keys that the user does not have.
func (p *Project) missingKeys(names []string) ([]string, error) {
	found, err := p.Env.KeyValues(names)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return found[name] != ""
	}), err
}
