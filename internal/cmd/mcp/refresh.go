package mcp

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/surface"
)

// mcpRefreshOptions are the flags of rye mcp refresh.
type mcpRefreshOptions struct {
	mcpOptions
	all bool
}

func mcpRefreshCommand() *cli.Command {
	var o mcpRefreshOptions
	return &cli.Command{
		Name:  "refresh",
		Usage: "compare the tools of servers and accept changes",
		Args:  "[NAME]",
		Long: `Starts the server or connects to it, and shows every tool that is new, removed, or
described differently from its signed item. Nothing changes before you confirm. Items
of unchanged tools stay as they are, with your own edits.

--all does so with every server of the space and asks once. A server that does not
answer does not stop the others; its error then decides the exit status.`,
		Examples: []string{"rye mcp refresh github", "rye mcp refresh github --yes --json", "rye mcp refresh --all"},
		Codes: []diag.Code{diag.ItemNotFound, diag.ConsentRequired, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags: append(
			[]cli.Flag{cli.Bool(&o.all, "all", "every server of the space")},
			mcpSignFlags(&o.mcpOptions)...,
		),
		Complete: completeServers,
		Run: func(ctx context.Context, c *cli.Call) error {
			if o.all == (c.Arg(0) != "") {
				return diag.New(diag.Usage, "reading arguments: %q needs a NAME or --all", "rye mcp refresh").WithReason("mcp_refresh_which")
			}
			return withStore(ctx, c, &o.mcpOptions, project.Strict, func(s *mcpStore) error {
				if o.all {
					return refreshServers(ctx, c, &o.mcpOptions, s)
				}
				return refreshServer(ctx, c, &o.mcpOptions, s)
			})
		},
	}
}

// refreshed is one server with the differences to its items.
type refreshed struct {
	name  string
	offer *mcpclient.Offer
	diff  *mcpclient.Diff
	err   error
}

func refreshServer(ctx context.Context, c *cli.Call, o *mcpOptions, s *mcpStore) error {
	l, err := s.Find(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	r := compareServer(ctx, c, s, l)
	if r.err != nil {
		return r.err
	}
	data := r.diff.Data(r.name)
	if r.diff.Empty() {
		if err := completeServerLock(ctx, s, r.name); err != nil {
			return err
		}
		return c.UI.Show(data, func() { showUnchanged(c.UI, r) })
	}
	showRefreshed(c.UI, r, !o.yes)
	err = confirmServer(c, o.yes, "Accept and sign these changes?", "refreshing MCP server "+r.name, r.offer.Server, nil)
	if err != nil {
		var e *diag.Error
		if errors.As(err, &e) {
			return e.WithDetail("changes", data)
		}
		return err
	}
	if err := acceptServer(ctx, c, s, r); err != nil {
		return err
	}
	return c.UI.Show(data, func() {
		c.UI.Out(
			"accepted: %d added, %d changed, %d removed",
			len(r.diff.Added),
			len(r.diff.Changed),
			len(r.diff.Removed),
		)
	})
}

// compareServer asks a server for its tools and compares them with their items.
func compareServer(ctx context.Context, c *cli.Call, s *mcpStore, l *mcpclient.Listed) refreshed {
	r := refreshed{name: l.Name, err: l.Err}
	if r.err == nil {
		r.err = s.CheckTools(ctx, l.Name)
	}
	if r.err != nil {
		return r
	}
	server := *l.Server
	server.Protocol = "" // negotiate it again
	if len(server.Variables()) > 0 {
		if r.err = surface.MayHoldSecrets(s.project, l.Item); r.err != nil {
			return r
		}
	}
	if r.offer, r.err = connectServer(ctx, c, s, &server); r.err == nil {
		r.diff, r.err = s.Compare(ctx, l, r.offer)
	}
	return r
}

// acceptServer writes the items of the server's current tools.
func acceptServer(ctx context.Context, c *cli.Call, s *mcpStore, r refreshed) error {
	if err := s.loadKey(ctx); err != nil {
		return err
	}
	err := s.Write(ctx, r.name, r.diff.Files)
	if err != nil {
		return err
	}
	if err := relock.Refresh(ctx, s.project, s.reports); err != nil {
		return err
	}
	noteStaleServerLock(c, s.project, mcpclient.Refs(r.diff.Removed))
	return nil
}

func showUnchanged(u *cli.UI, r refreshed) {
	u.Out("MCP server %s has not changed: %s", r.name, cli.Plural(len(r.offer.Tools), "tool"))
}

// showRefreshed prints the changes of a server.
func showRefreshed(u *cli.UI, r refreshed, asked bool) {
	showMcpDiff(u, r.diff, asked)
	for _, f := range r.offer.Warnings {
		u.Warn("%s", f.Message)
	}
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
