package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/resolve"
)

// mcpOffer is what a server offers, all of it fit to become items.
type mcpOffer struct {
	server   *mcpclient.Server
	software string
	tools    []mcpclient.Tool
	warnings []diag.Finding
}

// mcpAsk starts or reaches a server and asks for its tools. The server's
// remembered revision of the protocol becomes the one that was agreed on.
func mcpAsk(ctx context.Context, c *cli.Call, s *mcpStore, server *mcpclient.Server) (*mcpOffer, error) {
	filled, err := server.Expand(nil, c.Environ())
	if err != nil {
		return nil, err
	}
	c.UI.Note("%s MCP server %s …", pick(server.Transport == mcpclient.Stdio, "starting", "reaching"), server.Name)
	session, tools, err := offered(ctx, s.house.McpOptions(), filled)
	if err != nil {
		showMcpStderr(c.UI, err)
		return nil, err
	}
	defer session.Close()
	server.Protocol = session.Protocol()
	fs := mcpclient.Check(server, tools, resolve.MaxItem)
	offer := &mcpOffer{server: server, software: session.Software(), tools: tools}
	for _, f := range fs {
		if f.Severity == diag.SeverityWarning {
			offer.warnings = append(offer.warnings, f)
		}
	}
	err = diag.FromFindings("adding the tools of MCP server "+server.Name, fs)
	return offer, err
}

// offered returns a session and the tools that it offers.
func offered(ctx context.Context, o mcpclient.Options, s *mcpclient.Server) (*mcpclient.Session, []mcpclient.Tool, error) {
	session, err := mcpclient.Connect(ctx, o, s)
	if err != nil {
		return nil, nil, err
	}
	tools, err := session.Tools(ctx)
	if err != nil {
		session.Close()
		return nil, nil, err
	}
	return session, tools, nil
}

// warned returns the warnings as texts.
func (o *mcpOffer) warned() []string {
	out := []string{}
	for _, f := range o.warnings {
		out = append(out, f.Message)
	}
	return out
}

// files returns the texts of the items, unsigned, by their place.
func (o *mcpOffer) files() (map[string][]byte, error) {
	text, err := o.server.Item()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{serverRel(o.server.Name): text}
	for _, t := range o.tools {
		b, err := mcpclient.StubItem(o.server, t)
		if err != nil {
			return nil, err
		}
		out[toolRel(o.server.Name, t.Name)] = b
	}
	return out, nil
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
			e.WithDetail("tools", toolsData(server.Name, tools))
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
