package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
)

// mcpAsk connects to a server and returns its tools.
func mcpAsk(ctx context.Context, c *cli.Call, s *mcpStore, server *mcpclient.Server) (*mcpclient.Offer, error) {
	c.UI.Note("%s MCP server %s …", pick(server.Transport == mcpclient.Stdio, "starting", "reaching"), server.Name)
	offer, err := mcpclient.Ask(ctx, s.project.McpOptions(), server, c.Environ())
	if err != nil {
		showMcpStderr(c.UI, err)
	}
	return offer, err
}

// mcpConsent asks whether to go on. Without a terminal nobody is asked, and
// nothing happens.
func mcpConsent(c *cli.Call, question, doing string, server *mcpclient.Server, tools []mcpclient.Tool) error {
	if c.Bool("yes") {
		return nil
	}
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		e := diag.New(diag.ConsentRequired, "%s: nobody is here to say yes", doing).
			WithHint("read what is shown, then run the same command with --yes").WithDetail("server", server.Data())
		if tools != nil {
			e.WithDetail("tools", mcpclient.ToolsData(server.Name, tools))
		}
		return e
	}
	answer, err := c.Ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(strings.ToLower(answer), "y") {
		return diag.New(diag.ApprovalDenied, "%s: you said no, and nothing was changed", doing).WithHint("nothing is left to do")
	}
	return nil
}
