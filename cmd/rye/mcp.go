package main

import (
	"context"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func mcpCommand() *cli.Command {
	return &cli.Command{
		Name: "mcp", Group: "Items",
		Usage: "use the tools of external MCP servers as items",
		Long: `A server that was added is a signed item, mcp/servers/NAME, and each of its tools is
one, mcp/NAME/TOOL: they run, are permitted, locked and verified like any other. A
tool runs only while its server describes it as it did when you signed it.`,
		Subs: []*cli.Command{mcpAddCommand(), mcpListCommand(), mcpRefreshCommand(), mcpRemoveCommand()},
	}
}

func scopeFlag() cli.Flag {
	return &cli.StringFlag{Name: "scope", Usage: "`SPACE` of the server: project or user", Value: string(space.Project)}
}

func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"}
}

func mcpListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the servers that were added", Args: "",
		Long:     `Nothing is started. Variables are shown by name, never filled in.`,
		Examples: []string{"rye mcp list", "rye mcp list --tools", "rye mcp list --json"},
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "tools", Usage: "list their tools too"}},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := envOf(c).Open(ctx, project.Strict)
			if err != nil {
				return err
			}
			listed, err := mcpclient.List(ctx, h.Resolver, c.Bool("tools"))
			if err != nil {
				return err
			}
			return c.UI.Show(mcpListData(listed, c.Bool("tools")), func() { showMcpList(c.UI, listed, c.Bool("tools")) })
		},
	}
}

func mcpRemoveCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Usage: "remove a server and the items of its tools", Args: "NAME",
		Long:     `Nothing is started. What else lies in the folder of the tools is in the way and named.`,
		Examples: []string{"rye mcp remove github", "rye mcp remove github --scope user"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.AmbiguousItem},
		Flags:    []cli.Flag{scopeFlag()},
		Complete: completeServers,
		Run:      runMCPRemove,
	}
}

func runMCPRemove(ctx context.Context, c *cli.Call) error {
	return withStore(ctx, c, project.Lenient, func(s *mcpStore) error { return mcpRemove(ctx, c, s) })
}

func mcpRemove(ctx context.Context, c *cli.Call, s *mcpStore) error {
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
	mcpUnlocked(c, s.project, refs)
	return c.UI.Show(map[string]any{"name": l.Name, "removed": removed}, func() {
		c.UI.Out("removed MCP server %s and %s", l.Name, plural(len(l.Files), "tool"))
	})
}

// mcpUnlocked says that the lock still names what is gone.
func mcpUnlocked(c *cli.Call, h *project.Project, refs []item.Ref) {
	if h.Lock == nil || h.Lock.Lock == nil {
		return
	}
	for _, it := range h.Lock.Lock.Items {
		if slices.Contains(refs, it.Ref) {
			c.UI.Note("rye.lock still names %s: rye lock brings it up to date", it.Ref)
			return
		}
	}
}

// completeServers offers the servers that were added.
func completeServers(ctx context.Context, c *cli.Call) []string {
	h, err := envOf(c).Open(ctx, project.Lenient)
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
