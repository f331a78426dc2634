package mcp

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/surface"
)

// connectServer connects to a server and returns its tools.
func connectServer(
	ctx context.Context,
	c *cli.Call,
	s *mcpStore,
	server *mcpclient.Server,
) (*mcpclient.Offer, error) {
	c.UI.Note(
		"%s MCP server %s …",
		cli.Pick(server.Transport == mcpclient.Stdio, "starting", "connecting to"),
		server.Name,
	)
	offer, err := mcpclient.Ask(ctx, surface.McpOptions(s.project), server, c.Environ())
	if err != nil {
		showMcpStderr(c.UI, err)
	}
	return offer, err
}

// confirmServer asks the user for confirmation, except with --yes. Without a
// terminal it returns an error.
func confirmServer(
	c *cli.Call,
	yes bool,
	question, doing string,
	server *mcpclient.Server,
	tools []mcpclient.Tool,
) error {
	if yes {
		return nil
	}
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		e := diag.New(diag.ConsentRequired, "%s: a person confirms it, and this process has no terminal", doing).
			WithReason("mcp_review").WithDetail("server", server.Data())
		if tools != nil {
			e.WithDetail("tools", mcpclient.ToolsData(server.Name, tools))
		}
		return e
	}
	// The texts of many tools may have moved the command off the screen.
	c.UI.Out("MCP server %s: %s", server.Name, reachedBy(server))
	yes, err := c.Confirm(question)
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.ApprovalDenied, "%s: cancelled; nothing changed", doing)
	}
	return nil
}
