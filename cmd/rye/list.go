package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func listCommand() *command {
	return &command{
		name: "list", group: "Items",
		usage: "list items of every space", args: "[KIND]",
		long: `The item that a run would use comes first; one that it shadows is marked. Support
files are not items and are left out.`,
		examples: []string{"rye list", "rye list tool --space project", "rye list --bundles", "rye list --json"},
		codes:    []diag.Code{diag.ItemNotFound},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "space", Usage: "only `SPACE`: project, user or system"},
			&cli.BoolFlag{Name: "bundles", Usage: "list the bundles of rye.lock and how they are installed"},
		},
		complete: completeKinds,
		run:      runList,
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

func runList(ctx context.Context, c *call) error {
	if c.bool("bundles") {
		return c.listBundles(ctx)
	}
	h, err := c.house(ctx, strict)
	if err != nil {
		return err
	}
	if s := c.str("space"); s != "" && s != string(space.Project) && s != string(space.User) && s != string(space.System) {
		return diag.New(diag.Usage, "listing items: %q is no space", s).WithHint("write project, user or system")
	}
	table, err := h.resolver.Table(ctx)
	if err != nil {
		return err
	}
	for _, root := range h.spaces.Roots {
		if err := root.Ready(); err != nil {
			c.ui.Warn("what it holds is not listed: %s", err)
		}
	}
	items := []listed{}
	for _, ext := range table.All() {
		if want := c.arg(0); want != "" && want != string(ext.Kind) {
			continue
		}
		more, err := c.listKind(ctx, h, ext.Kind)
		if err != nil {
			return err
		}
		items = append(items, more...)
	}
	if table.Kind(item.Kind(c.arg(0))) == nil && c.arg(0) != "" {
		return diag.New(diag.ItemNotFound, "listing items: %q is no kind", c.arg(0))
	}
	return c.ui.Show(map[string]any{"items": items, "total": len(items)}, func() {
		c.ui.items(items)
		if c.str("space") == string(space.Project) && h.spaces.Of(space.Project) == nil {
			c.ui.Note("There is no project here; rye init makes one.")
		}
	})
}

func (c *call) listKind(ctx context.Context, h *house, k item.Kind) ([]listed, error) {
	entries, err := h.resolver.All(ctx, k)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, e := range entries {
		if want := c.str("space"); want != "" && want != string(e.Root.Space) {
			continue
		}
		it, err := h.resolver.Open(ctx, e)
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

func (u *ui) items(items []listed) {
	if len(items) == 0 {
		u.Note("No items.")
		return
	}
	t := &table{header: []string{"ITEM", "VERSION", "SPACE", "TRUST", "DESCRIPTION"}}
	for _, i := range items {
		name := any(i.Ref)
		if i.Shadowed {
			name = u.Style(dim, i.Ref+" (shadowed)")
		}
		t.add(name, i.Version, i.Space, i.Trust, i.Description)
	}
	u.Table(t)
}
