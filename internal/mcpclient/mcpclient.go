// Package mcpclient calls tools of external MCP servers: it starts or reaches a
// server that a signed item describes, compares its tools with the signed ones,
// and keeps the items of servers and tools in a space (Store).
//
// It does not ask the user and does not sign: its callers do. It is not an MCP
// server (see mcpserve) and does not decide permissions (see policy).
//
// The client is not an applet: connections live as long as the process, so its functions are
// behind the native primitive.
package mcpclient

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Params are the parameters of Natives. Environ and Secrets may be nil.
type Params struct {
	Resolver *resolve.Resolver
	// Options returns how servers are started and reached, except the environment,
	// which is the chain's.
	Options func() Options
	Pool    *Pool
	// Execute executes a tool during a call, with its permissions.
	Execute func(ctx context.Context, call exec.Call, ref item.Ref, params map[string]any) (map[string]any, error)
	// Environ has the values, as KEY=VALUE, of variables that a server item names
	// and the chain does not declare.
	Environ []string
	// Secrets returns an error if the server of an item must not receive variables
	// of Environ: its address and its program decide where they are sent. If it is
	// nil, no server receives them.
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

// client implements the functions.
type client struct{ p Params }

// allowed checks the capability of a caller to start or reach a server.
func allowed(in *exec.NativeCall, s *Server) error {
	return in.Held.Allows(policy.Execute, s.Ref())
}
