package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
)

func mcpRefreshCommand() *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "compare a server's tools with their items, and accept what changed", Args: "NAME",
		Long: `Starts or reaches the server and shows every tool that is new, gone, or described
otherwise than when you signed its item, line by line. Nothing changes before you
say yes. Items that still hold stay as they are, with what you changed in them.`,
		Examples: []string{"rye mcp refresh github", "rye mcp refresh github --yes --json"},
		Codes: []diag.Code{diag.ItemNotFound, diag.ConsentRequired, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags:    []cli.Flag{scopeFlag(), yesFlag(), &cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"}},
		Complete: completeServers,
		Run:      runMCPRefresh,
	}
}

func runMCPRefresh(ctx context.Context, c *cli.Call) error {
	return withStore(ctx, c, project.Strict, func(s *mcpStore) error { return mcpRefresh(ctx, c, s) })
}

func mcpRefresh(ctx context.Context, c *cli.Call, s *mcpStore) error {
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
	if err := allowsSecrets(s.project, l); err != nil {
		return err
	}
	offer, err := mcpAsk(ctx, c, s, &server)
	if err != nil {
		return err
	}
	diff, err := s.Compare(ctx, l, offer)
	if err != nil {
		return err
	}
	return mcpAccept(ctx, c, s, offer, diff)
}

// allowsSecrets is mayHoldSecrets for a server that needs any.
func allowsSecrets(h *project.Project, l *mcpclient.Listed) error {
	if len(l.Server.Variables()) == 0 {
		return nil
	}
	return h.MayHoldSecrets(l.Item)
}

// mcpAccept shows the differences and, after a yes, writes what the server
// offers now.
func mcpAccept(ctx context.Context, c *cli.Call, s *mcpStore, offer *mcpclient.Offer, d *mcpclient.Diff) error {
	name := offer.Server.Name
	if d.Empty() {
		return c.UI.Show(d.Data(name), func() {
			c.UI.Out("MCP server %s offers what it did: %s", name, plural(len(offer.Tools), "tool"))
		})
	}
	showMcpDiff(c.UI, d, !c.Bool("yes"))
	for _, f := range offer.Warnings {
		c.UI.Warn("%s", f.Message)
	}
	if err := mcpConsent(c, "Accept this, and sign it?", "refreshing MCP server "+name, offer.Server, nil); err != nil {
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
	mcpUnlocked(c, s.project, mcpclient.Refs(d.Removed))
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
			showMcpSays(u, d.Tools[rel], d.Tools[rel].Description)
		} else {
			u.Text(indented(d.Tools[rel].Description))
		}
	}
	for _, rel := range d.Removed {
		u.Out("%s %s", u.Style(cli.Red, "gone   "), mcpclient.IDOf(rel))
	}
	for _, ch := range d.Changed {
		u.Out("%s %s", u.Style(cli.Yellow, "changed"), mcpclient.IDOf(ch.Path))
		if ch.Problem != "" {
			u.Warn("%s", ch.Problem)
		}
		showDiff(u, ch.Diff)
	}
}
