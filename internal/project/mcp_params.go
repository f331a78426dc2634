package project

import (
	"context"

	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// mcpParams returns what the functions for external MCP servers work with.
func (h *Project) mcpParams() mcpclient.Params {
	return mcpclient.Params{
		Resolver: h.Resolver, Caller: func() policy.Set { return h.Verbs.Caller() }, Pool: h.Env.Servers,
		Options: func() mcpclient.Options { return h.McpOptions() }, Environ: h.Env.Environ(), Secrets: h.MayHoldSecrets,
		Execute: func(ctx context.Context, ref item.Ref, params map[string]any) (map[string]any, error) {
			run, err := h.Verbs.Tool(ctx, primary.Call{Ref: ref, Params: params})
			if err != nil || run.Result == nil {
				return nil, err
			}
			return run.Result.Data, nil
		},
	}
}

// mcpOptions says how servers are started that no chain leads to.
func (h *Project) McpOptions() mcpclient.Options {
	dir := h.Spaces.ProjectDir
	if dir == "" {
		dir = h.Env.Base
	}
	return mcpclient.Options{
		Version: h.Env.Version, Dir: dir, Project: h.Spaces.ProjectDir, Consent: h.consent(), Offline: h.Env.Offline,
		Env: proc.Merge(proc.Base(h.Env.Environ()), []string{"RYE_PROJECT=" + dir}),
	}
}

// mayHoldSecrets returns nil when variables of the user's environment may be
// handed to a server: its program and its address decide where they go, as those
// of a provider do.
func (h *Project) MayHoldSecrets(it *resolve.Item) error {
	return h.Resolver.Provider(it, "filling in the variables of "+it.Ref.String())
}
