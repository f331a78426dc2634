package surface

import (
	"cmp"
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// MCPParams returns the parameters of the functions for external MCP servers.
func MCPParams(p *project.Project) mcpclient.Params {
	return mcpclient.Params{
		Resolver: p.Resolver,
		Pool:     p.Env.Servers,
		Options:  func() mcpclient.Options { return McpOptions(p) },
		Environ:  p.Env.Environ(),
		Secrets: func(it *resolve.Item) error {
			return MayHoldSecrets(p, it)
		},
		Execute: func(ctx context.Context, call exec.Call, ref item.Ref, params map[string]any) (map[string]any, error) {
			run, err := p.Verbs.Tool(ctx, primary.Call{
				Ref:    ref,
				Held:   call.Held,
				Within: call,
				Params: params,
			})
			if err != nil || run.Result == nil {
				return nil, err
			}
			return run.Result.Data, nil
		},
	}
}

// McpOptions are the options of external servers that are not started for a chain.
func McpOptions(p *project.Project) mcpclient.Options {
	dir := cmp.Or(p.ToolDir(), p.Env.Base)
	return mcpclient.Options{
		Version: p.Env.Version,
		Dir:     dir,
		Project: p.Spaces.ProjectDir,
		Consent: consent.Record(p.Dirs.State).CheckInterpreter,
		Offline: p.Env.Offline,
		Confine: func(ctx context.Context, s *mcpclient.Server, identity string, held policy.Held, c *proc.Cmd) (*exec.Sandbox, func(*proc.Result) error, error) {
			return confineServer(ctx, p, s, identity, held, c)
		},
		Env: proc.Merge(
			proc.Base(p.Env.Environ()),
			[]string{"RYE_PROJECT=" + dir},
		),
	}
}

// confineServer starts the program of an MCP server in its sandbox.
func confineServer(
	ctx context.Context,
	p *project.Project,
	s *mcpclient.Server,
	identity string,
	held policy.Held,
	c *proc.Cmd,
) (*exec.Sandbox, func(*proc.Result) error, error) {
	def := mcpclient.DefaultSandbox()
	stated := policy.Profile{}
	if s.Sandbox != nil {
		stated = *s.Sandbox
	}
	return p.Executor.Confine(ctx, exec.Program{
		Ref:      s.Ref(),
		Owner:    identity,
		Declared: s.Risk,
		Profile:  stated,
		Default:  &def,
		Held:     held,
	}, c)
}

// MayHoldSecrets returns nil when variables of the user's environment may be passed to a
// server: its program and its address decide where they go, as a provider's do.
func MayHoldSecrets(p *project.Project, it *resolve.Item) error {
	return p.Resolver.Provider(it, "filling in the variables of "+it.Ref.String())
}
