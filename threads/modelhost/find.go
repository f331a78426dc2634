package modelhost

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/provider"
)

// Provider is a provider item as it is used.
type Provider struct {
	Item   *resolve.Item
	Config *provider.Config
	Why    error // why it cannot be used here; nil if it can
}

// Find finds a provider item, and reports whether the allowance permits it and its
// keys are present.
func Find(ctx context.Context, p *project.Project, id string) (*Provider, error) {
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
	f := &Provider{Item: it}
	if f.Config, err = Priced(ctx, p, it); err != nil {
		return nil, err
	}
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	missing, err := missingKeys(p, f.Config.Keys)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Config.Program != nil && notInstalled(p, f.Config) != "":
		f.Why = diag.New(
			diag.AuthRequired,
			"using %s: %s is not installed, or not in the PATH",
			it.Ref,
			notInstalled(p, f.Config),
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

// Named returns the provider that a person or a directive names: by its id, or by the
// last part of an id below Dir, as the commands for providers accept it.
func Named(ctx context.Context, p *project.Project, name string) (*Provider, error) {
	f, err := Find(ctx, p, name)
	if diag.CodeOf(err) != diag.ToolNotFound {
		return f, err
	}
	s, err := StateOf(ctx, p, name)
	if err != nil {
		return nil, err
	}
	return Find(ctx, p, s.Ref)
}

// notInstalled returns the program of a provider if this machine does not have it.
func notInstalled(p *project.Project, c *provider.Config) string {
	if c.Program == nil {
		return ""
	}
	_, err := proc.LookPath(c.Program.Command[0], p.Outside(proc.Base(p.Env.Environ())))
	if err != nil {
		return c.Program.Command[0]
	}
	return ""
}

// Keys returns the values of the keys of the providers of a thread.
func Keys(ctx context.Context, p *project.Project, services []*threads.Service) (map[string]string, error) {
	out := map[string]string{}
	for _, s := range services {
		f, err := Find(ctx, p, s.Provider.ID)
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
func missingKeys(p *project.Project, names []string) ([]string, error) {
	found, err := p.Env.KeyValues(names)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return found[name] != ""
	}), err
}
