package main

import (
	"context"
	"maps"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/primary/agent"
)

// natives returns the functions that tools of a house may name in config.func.
func (c *call) natives(h *house) map[string]exec.Native {
	out := map[string]exec.Native{}
	maps.Copy(out, agent.Natives(func(ctx context.Context) (*agent.Workspace, error) { return c.place(ctx, h) }))
	maps.Copy(out, mcpclient.Natives(c.mcpParams(h)))
	return out
}
