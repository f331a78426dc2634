package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Group: "Items",
		Usage: "list items of every space", Args: "[KIND]",
		Long: `The item that a run would use comes first; one that it shadows is marked. Support
files are not items and are left out.`,
		Examples: []string{"rye list", "rye list tool --space project", "rye list --bundles", "rye list --json"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "space", Usage: "only `SPACE`: project, user or system"},
			&cli.BoolFlag{Name: "bundles", Usage: "list the bundles of rye.lock and how they are installed"},
		},
		Complete: completeKinds,
		Run:      runList,
	}
}

// listed is one line of the list.
type listed struct {
	Ref         string `json:"ref"`
	Space       string `json:"space"`
	Version     string `json:"version,omitempty"`
	Trust       string `json:"trust"`
	Shadowed    bool   `json:"shadowed,omitempty"`
	Description string `json:"description,omitempty"`
}

func runList(ctx context.Context, c *cli.Call) error {
	if c.Bool("bundles") {
		return listBundles(ctx, c)
	}
	h, err := envOf(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if s := c.Str("space"); s != "" && s != string(space.Project) && s != string(space.User) && s != string(space.System) {
		return diag.New(diag.Usage, "listing items: %q is no space", s).WithHint("write project, user or system")
	}
	table, err := h.Resolver.Table(ctx)
	if err != nil {
		return err
	}
	for _, root := range h.Spaces.Roots {
		if err := root.Ready(); err != nil {
			c.UI.Warn("what it holds is not listed: %s", err)
		}
	}
	items := []listed{}
	for _, ext := range table.All() {
		if want := c.Arg(0); want != "" && want != string(ext.Kind) {
			continue
		}
		more, err := listKind(ctx, c, h, ext.Kind)
		if err != nil {
			return err
		}
		items = append(items, more...)
	}
	if table.Kind(item.Kind(c.Arg(0))) == nil && c.Arg(0) != "" {
		return diag.New(diag.ItemNotFound, "listing items: %q is no kind", c.Arg(0))
	}
	return c.UI.Show(map[string]any{"items": items, "total": len(items)}, func() {
		showItems(c.UI, items)
		if c.Str("space") == string(space.Project) && h.Spaces.Of(space.Project) == nil {
			c.UI.Note("There is no project here; rye init makes one.")
		}
	})
}

func listKind(ctx context.Context, c *cli.Call, h *project.Project, k item.Kind) ([]listed, error) {
	entries, err := h.Resolver.All(ctx, k)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, e := range entries {
		if want := c.Str("space"); want != "" && want != string(e.Root.Space) {
			continue
		}
		it, err := h.Resolver.Open(ctx, e)
		if err != nil {
			out = append(out, listed{Ref: e.Ref.String(), Space: e.Root.Label(), Trust: string(diag.CodeOf(err)), Shadowed: e.Shadow})
			continue
		}
		if !it.Support() {
			out = append(out, listed{e.Ref.String(), e.Root.Label(), it.Meta.Version, it.Verdict.Word(), e.Shadow, it.Meta.Description})
		}
	}
	return out, nil
}

func showItems(u *cli.UI, items []listed) {
	if len(items) == 0 {
		u.Note("No items.")
		return
	}
	t := &cli.Table{Header: []string{"ITEM", "VERSION", "SPACE", "TRUST", "DESCRIPTION"}}
	for _, i := range items {
		name := any(i.Ref)
		if i.Shadowed {
			name = u.Style(cli.Dim, i.Ref+" (shadowed)")
		}
		t.Add(name, i.Version, i.Space, i.Trust, i.Description)
	}
	u.Table(t)
}
