package main

import (
	"context"
	"path"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func mcpCommand() *command {
	return &command{
		name: "mcp", group: "Items",
		usage: "use the tools of external MCP servers as items",
		long: `A server that was added is a signed item, mcp/servers/NAME, and each of its tools is
one, mcp/NAME/TOOL: they run, are permitted, locked and verified like any other. A
tool runs only while its server describes it as it did when you signed it.`,
		subs: []*command{mcpAddCommand(), mcpListCommand(), mcpRefreshCommand(), mcpRemoveCommand()},
	}
}

func scopeFlag() cli.Flag {
	return &cli.StringFlag{Name: "scope", Usage: "`SPACE` of the server: project or user", Value: string(space.Project)}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func mcpListCommand() *command {
	return &command{
		name: "list", usage: "list the servers that were added", args: "",
		long:     `Nothing is started. Variables are shown by name, never filled in.`,
		examples: []string{"rye mcp list", "rye mcp list --tools", "rye mcp list --json"},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "tools", Usage: "list their tools too"}},
		run: func(ctx context.Context, c *call) error {
			h, err := c.house(ctx, strict)
			if err != nil {
				return err
			}
			listed, err := mcpclient.List(ctx, h.resolver, c.bool("tools"))
			if err != nil {
				return err
			}
			return c.ui.Show(mcpListData(listed, c.bool("tools")), func() { c.ui.mcpList(listed, c.bool("tools")) })
		},
	}
}

func mcpRemoveCommand() *command {
	return &command{
		name: "remove", usage: "remove a server and the items of its tools", args: "NAME",
		long:     `Nothing is started. What else lies in the folder of the tools is in the way and named.`,
		examples: []string{"rye mcp remove github", "rye mcp remove github --scope user"},
		codes:    []diag.Code{diag.ItemNotFound, diag.AmbiguousItem},
		flags:    []cli.Flag{scopeFlag()},
		complete: completeServers,
		run:      runMCPRemove,
	}
}

func runMCPRemove(ctx context.Context, c *call) error {
	return c.inStore(ctx, lenient, func(s *mcpStore) error { return c.mcpRemove(ctx, s) })
}

func (c *call) mcpRemove(ctx context.Context, s *mcpStore) error {
	l, err := s.find(ctx, c.arg(0))
	if err != nil {
		return err
	}
	if err := s.onlyTools(ctx, l.Name); err != nil {
		return err
	}
	if err := s.remove(l); err != nil {
		return err
	}
	removed := []string{l.Path}
	for _, e := range l.Files {
		removed = append(removed, e.Root.Display(e.Rel))
	}
	c.mcpUnlocked(s.house, append(entryRefs(l.Files), mcpclient.ServerRef(l.Name)))
	return c.ui.Show(map[string]any{"name": l.Name, "removed": removed}, func() {
		c.ui.Out("removed MCP server %s and %s", l.Name, plural(len(l.Files), "tool"))
	})
}

// mcpUnlocked says that the lock still names what is gone.
func (c *call) mcpUnlocked(h *house, refs []item.Ref) {
	if h.lock == nil || h.lock.lock == nil {
		return
	}
	for _, it := range h.lock.lock.Items {
		if slices.Contains(refs, it.Ref) {
			c.ui.Note("rye.lock still names %s: rye lock brings it up to date", it.Ref)
			return
		}
	}
}

// completeServers offers the servers that were added.
func completeServers(ctx context.Context, c *call) []string {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return nil
	}
	entries, err := h.resolver.All(ctx, item.Tool)
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
