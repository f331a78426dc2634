// Package mcpclient calls tools of external MCP servers: it starts or reaches a
// server as a signed item says, holds what it offers against what was signed,
// and makes the items that stand for its tools.
//
// It asks no person, signs nothing and writes no file: the command line does. It
// serves no protocol itself (mcpserve) and decides no permission (policy).
package mcpclient

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Params says what the functions of this room work with. All of it is required
// but Environ and Secrets.
type Params struct {
	Resolver *resolve.Resolver
	Caller   func() policy.Set // who calls
	// Options says how servers are started and reached, but for the environment,
	// which is that of the chain.
	Options func() Options
	Pool    *Pool
	// Execute runs a tool as the caller would.
	Execute func(ctx context.Context, ref item.Ref, params map[string]any) (map[string]any, error)
	// Environ is where the variables come from that a server item names and the
	// chain does not declare; nil is empty.
	Environ []string
	// Secrets returns nil when a server may be handed variables of Environ: its
	// address and its program decide where they go. Nil means never.
	Secrets func(*resolve.Item) error
}

// Natives returns the functions that runtimes and tools name in config.func.
func Natives(p Params) map[string]exec.Native {
	c := &client{p}
	return map[string]exec.Native{
		"mcp_call":     c.call,
		"mcp_connect":  c.connect,
		"mcp_discover": c.discover,
		"mcp_manager":  c.manage,
	}
}

// client is what the functions share.
type client struct{ p Params }

// allowed asks for the capability to start or reach a server.
func (c *client) allowed(s *Server) error { return c.p.Caller().Check(policy.Execute, s.Ref()) }
