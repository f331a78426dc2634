package mcp

import (
	"context"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "mcp",
		Group: "Items",
		Usage: "use the tools of external MCP servers as items",
		Long: `A server is a signed item, mcp/servers/NAME, and each of its tools is the item
mcp/NAME/TOOL. They are run, permitted, locked and verified like other items. A tool
runs only if its server still describes it as when you signed the item.`,
		Subs: []*cli.Command{mcpAddCommand(), mcpListCommand(), mcpRefreshCommand(), mcpRemoveCommand()},
	}
}

// mcpOptions are the flags of the commands that change servers.
type mcpOptions struct {
	space space.Name
	yes   bool
	key   string
}

// mcpSpaceFlag returns the flag that fills o.space.
func mcpSpaceFlag(o *mcpOptions) cli.Flag {
	o.space = space.Project
	return cli.String(&o.space, "space", "`SPACE` of the server: project or user").Alias("scope").
		OneOf(string(space.Project), string(space.User))
}

// mcpSignFlags returns the flags of the commands that sign items.
func mcpSignFlags(o *mcpOptions) []cli.Flag {
	return []cli.Flag{mcpSpaceFlag(o), cli.Bool(&o.yes, "yes", "do not ask").Alias("y"), cli.String(&o.key, "key", env.KeyUsage)}
}

// mcpListOptions are the flags of rye mcp list.
type mcpListOptions struct{ tools bool }

func mcpListCommand() *cli.Command {
	var o mcpListOptions
	return &cli.Command{
		Name:     "list",
		Usage:    "list the configured servers",
		Args:     "",
		Long:     `Starts no server. Variables are shown by name, without their values.`,
		Examples: []string{"rye mcp list", "rye mcp list --tools", "rye mcp list --json"},
		Flags:    []cli.Flag{cli.Bool(&o.tools, "tools", "also list their tools")},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Strict)
			if err != nil {
				return err
			}
			listed, err := mcpclient.List(ctx, h.Resolver, o.tools)
			if err != nil {
				return err
			}
			return c.UI.Show(mcpListData(listed, o.tools), func() {
				showMcpList(c.UI, listed, o.tools)
			})
		},
	}
}

func mcpRemoveCommand() *cli.Command {
	var o mcpOptions
	return &cli.Command{
		Name:     "remove",
		Usage:    "remove a server and the items of its tools",
		Args:     "NAME",
		Long:     `Starts no server. Fails if the folder of the tools contains other files.`,
		Examples: []string{"rye mcp remove github", "rye mcp remove github --space user"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.AmbiguousItem},
		Flags:    []cli.Flag{mcpSpaceFlag(&o)},
		Complete: completeServers,
		Run: func(ctx context.Context, c *cli.Call) error {
			return withStore(
				ctx,
				c,
				&o,
				project.Lenient,
				func(s *mcpStore) error {
					return removeServer(ctx, c, s)
				},
			)
		},
	}
}

func removeServer(ctx context.Context, c *cli.Call, s *mcpStore) error {
	l, err := s.Find(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	if err := s.CheckTools(ctx, l.Name); err != nil {
		return err
	}
	if err := s.Remove(l); err != nil {
		return err
	}
	removed := []string{l.Path}
	refs := []item.Ref{mcpclient.ServerRef(l.Name)}
	for _, e := range l.Files {
		removed = append(removed, e.Root.Display(e.Rel))
		refs = append(refs, e.Ref)
	}
	noteStaleServerLock(c, s.project, refs)
	return c.UI.Show(map[string]any{"name": l.Name, "removed": removed}, func() {
		c.UI.Out("removed MCP server %s and %s", l.Name, cli.Plural(len(l.Files), "tool"))
	})
}

// mcpUnlocked prints that rye.lock still contains one of the removed
// items.
func noteStaleServerLock(c *cli.Call, h *project.Project, refs []item.Ref) {
	if h.Lock == nil || h.Lock.Lock == nil {
		return
	}
	for _, it := range h.Lock.Lock.Items {
		if slices.Contains(refs, it.Ref) {
			c.UI.Note("rye.lock still names %s; update it with rye lock", it.Ref)
			return
		}
	}
}

// completeServers returns the configured servers.
func completeServers(ctx context.Context, c *cli.Call) []string {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	entries, err := h.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if path.Dir(e.Ref.ID) == mcpclient.ServerFolder {
			out = append(out, e.Ref.Name())
		}
	}
	return slices.Compact(out)
}
