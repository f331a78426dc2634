package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
)

func mcpRefreshCommand() *cli.Command {
	var o mcpOptions
	return &cli.Command{
		Name: "refresh", Usage: "compare the tools of a server and accept changes", Args: "NAME",
		Long: `Starts the server or connects to it, and shows every tool that is new, removed, or
described differently from its signed item. Nothing changes before you confirm. Items
of unchanged tools stay as they are, with your own edits.`,
		Examples: []string{"rye mcp refresh github", "rye mcp refresh github --yes --json"},
		Codes: []diag.Code{diag.ItemNotFound, diag.ConsentRequired, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags:    mcpSignFlags(&o),
		Complete: completeServers,
		Run: func(ctx context.Context, c *cli.Call) error {
			return withStore(ctx, c, &o, project.Strict, func(s *mcpStore) error { return refreshServer(ctx, c, &o, s) })
		},
	}
}

func refreshServer(ctx context.Context, c *cli.Call, o *mcpOptions, s *mcpStore) error {
	l, err := s.Find(ctx, c.Arg(0))
	if err == nil {
		err = l.Err
	}
	if err == nil {
		err = s.CheckTools(ctx, l.Name)
	}
	if err != nil {
		return err
	}
	server := *l.Server
	server.Protocol = "" // negotiate it again
	if len(server.Variables()) > 0 {
		if err := s.project.MayHoldSecrets(l.Item); err != nil {
			return err
		}
	}
	offer, err := connectServer(ctx, c, s, &server)
	if err != nil {
		return err
	}
	diff, err := s.Compare(ctx, l, offer)
	if err != nil {
		return err
	}
	return acceptServer(ctx, c, o, s, offer, diff)
}

// acceptServer prints the differences and, after confirmation, writes the items of
// the server's current tools.
func acceptServer(ctx context.Context, c *cli.Call, o *mcpOptions, s *mcpStore, offer *mcpclient.Offer, d *mcpclient.Diff) error {
	name := offer.Server.Name
	if d.Empty() {
		if err := completeServerLock(ctx, s, name); err != nil {
			return err
		}
		return c.UI.Show(d.Data(name), func() {
			c.UI.Out("MCP server %s has not changed: %s", name, plural(len(offer.Tools), "tool"))
		})
	}
	showMcpDiff(c.UI, d, !o.yes)
	for _, f := range offer.Warnings {
		c.UI.Warn("%s", f.Message)
	}
	if err := confirmServer(c, o.yes, "Accept and sign these changes?", "refreshing MCP server "+name, offer.Server, nil); err != nil {
		if e, ok := err.(*diag.Error); ok {
			return e.WithDetail("changes", d.Data(name))
		}
		return err
	}
	if err := s.loadKey(ctx); err != nil {
		return err
	}
	if err := s.Write(ctx, name, d.Files); err != nil {
		return err
	}
	if err := s.project.RefreshLock(ctx, s.reports); err != nil {
		return err
	}
	noteStaleServerLock(c, s.project, mcpclient.Refs(d.Removed))
	return c.UI.Show(d.Data(name), func() {
		c.UI.Out("accepted: %d added, %d changed, %d removed", len(d.Added), len(d.Changed), len(d.Removed))
	})
}

// showMcpDiff prints the changes: the full description of a new tool if the user is
// about to approve it, a line diff of a changed one.
func showMcpDiff(u *cli.UI, d *mcpclient.Diff, asked bool) {
	for _, rel := range d.Added {
		u.Out("%s %s", u.Style(cli.Green, "new    "), mcpclient.IDOf(rel))
		if asked || u.Detailed {
			showToolTexts(u, d.Tools[rel], d.Tools[rel].Description)
		} else {
			u.Text(indented(d.Tools[rel].Description))
		}
	}
	for _, rel := range d.Removed {
		u.Out("%s %s", u.Style(cli.Red, "removed"), mcpclient.IDOf(rel))
	}
	for _, ch := range d.Changed {
		u.Out("%s %s", u.Style(cli.Yellow, "changed"), mcpclient.IDOf(ch.Path))
		if ch.Problem != "" {
			u.Warn("%s", ch.Problem)
		}
		showDiff(u, ch.Diff)
	}
}
