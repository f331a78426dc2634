package main

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
func (c *call) mcpParams(h *house) mcpclient.Params {
	return mcpclient.Params{
		Resolver: h.resolver, Caller: func() policy.Set { return h.primary.Caller() }, Pool: c.servers,
		Options: func() mcpclient.Options { return c.mcpOptions(h) }, Environ: c.Environ(), Secrets: h.mayHoldSecrets,
		Execute: func(ctx context.Context, ref item.Ref, params map[string]any) (map[string]any, error) {
			run, err := h.primary.Tool(ctx, primary.Call{Ref: ref, Params: params})
			if err != nil || run.Result == nil {
				return nil, err
			}
			return run.Result.Data, nil
		},
	}
}

// mcpOptions says how servers are started that no chain leads to.
func (c *call) mcpOptions(h *house) mcpclient.Options {
	dir := h.spaces.ProjectDir
	if dir == "" {
		dir = c.dir
	}
	return mcpclient.Options{
		Version: readVersion().Version, Dir: dir, Project: h.spaces.ProjectDir, Consent: c.consent(h), Offline: c.bool("offline"),
		Env: proc.Merge(proc.Base(c.Environ()), []string{"RYE_PROJECT=" + dir}),
	}
}

// mayHoldSecrets returns nil when variables of the user's environment may be
// handed to a server: its program and its address decide where they go, as those
// of a provider do.
func (h *house) mayHoldSecrets(it *resolve.Item) error {
	return h.resolver.Provider(it, "filling in the variables of "+it.Ref.String())
}
