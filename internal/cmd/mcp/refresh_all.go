package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
)

// refreshServers compares every server of the space, asks once about all changes, and
// accepts them. The error of one server does not stop the others.
func refreshServers(ctx context.Context, c *cli.Call, o *mcpOptions, s *mcpStore) error {
	listed, err := mcpclient.List(ctx, s.project.Resolver, false)
	if err != nil {
		return err
	}
	var all, changed []refreshed
	for i := range listed {
		if listed[i].Root != s.root {
			continue
		}
		r := compareServer(ctx, c, s, &listed[i])
		if err := ctx.Err(); err != nil {
			return diag.New(diag.Cancelled, "refreshing the MCP servers: %w", err)
		}
		if r.err == nil && r.diff.Empty() {
			r.err = completeServerLock(ctx, s, r.name)
		}
		showRefreshedOf(c.UI, r, !o.yes)
		all = append(all, r)
		if r.err == nil && !r.diff.Empty() {
			changed = append(changed, r)
		}
	}
	if len(changed) > 0 {
		if err := confirmServers(c, o.yes, changed); err != nil {
			return withRefreshed(err, all)
		}
	}
	for i := range all {
		r := &all[i]
		if r.err == nil && !r.diff.Empty() {
			if r.err = acceptServer(ctx, c, s, *r); r.err != nil {
				showRefreshError(c.UI, r.name, r.err)
			}
		}
	}
	return showAllRefreshed(c.UI, all)
}

// showRefreshedOf prints the comparison of one of several servers.
func showRefreshedOf(u *cli.UI, r refreshed, asked bool) {
	switch {
	case r.err != nil:
		showRefreshError(u, r.name, r.err)
	case r.diff.Empty():
		showUnchanged(u, r)
	default:
		u.Out("%s", u.Style(
			cli.Bold,
			"MCP server "+r.name+": "+reachedBy(r.offer.Server),
		))
		showRefreshed(u, r, asked)
	}
}

// showRefreshError prints the error of one server and its hint.
func showRefreshError(u *cli.UI, name string, err error) {
	if u.AsJSON {
		return
	}
	u.PrintErr("%s MCP server %s: %s", u.ErrStyle(cli.Red, "rye: error:"), name, err)
	if hint := hintOf(err); hint != "" {
		u.PrintErr("%s %s", u.ErrStyle(cli.Cyan, "rye: hint:"), hint)
	}
}

// hintOf returns the hint of an error, "" if it has none.
func hintOf(err error) string {
	var e *diag.Error
	if errors.As(err, &e) {
		return cli.Hint(e)
	}
	return ""
}

// confirmServers asks once about the changes of several servers.
func confirmServers(c *cli.Call, yes bool, changed []refreshed) error {
	if yes {
		return nil
	}
	var names []string
	for _, r := range changed {
		names = append(names, r.name)
	}
	doing := "refreshing MCP servers " + strings.Join(names, ", ")
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return diag.New(diag.ConsentRequired, "%s: a person confirms it, and this process has no terminal", doing).WithReason("mcp_review")
	}
	c.UI.Out("changes of %s:", cli.Plural(len(changed), "MCP server"))
	for _, r := range changed {
		c.UI.Out(
			"  %s: %d added, %d changed, %d removed",
			r.name,
			len(r.diff.Added),
			len(r.diff.Changed),
			len(r.diff.Removed),
		)
	}
	yes, err := c.Confirm("Accept and sign all of them?")
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.ApprovalDenied, "%s: cancelled; nothing changed", doing)
	}
	return nil
}

// refreshedData returns the result for every server.
func refreshedData(all []refreshed) []any {
	out := []any{}
	for _, r := range all {
		switch {
		case r.err != nil:
			out = append(out, map[string]any{"name": r.name, "error": map[string]any{"code": diag.CodeOf(r.err), "message": r.err.Error(), "suggestion": hintOf(r.err)}})
		default:
			out = append(out, r.diff.Data(r.name))
		}
	}
	return out
}

// withRefreshed adds the changes to an error, for a caller that confirms them.
func withRefreshed(err error, all []refreshed) error {
	var e *diag.Error
	if errors.As(err, &e) {
		return e.WithDetail("servers", refreshedData(all))
	}
	return err
}

// showAllRefreshed prints the result for all servers as one document. The errors of
// servers have been printed.
func showAllRefreshed(u *cli.UI, all []refreshed) error {
	var errs []error
	accepted := 0
	for _, r := range all {
		if r.err != nil {
			errs = append(errs, r.err)
		} else if !r.diff.Empty() {
			accepted++
		}
	}
	data := map[string]any{
		"servers":  refreshedData(all),
		"count":    len(all),
		"accepted": accepted,
		"failed":   len(errs),
	}
	human := func() {
		u.Out("%s: changes of %d accepted, %d failed", cli.Plural(len(all), "MCP server"), accepted, len(errs))
	}
	if err := diag.Join("refreshing the MCP servers", errs); err != nil {
		if !u.AsJSON {
			human()
		}
		return cli.Shown(err, data)
	}
	return u.Show(data, human)
}
