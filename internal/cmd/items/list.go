package items

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// listOptions are the flags of rye list.
type listOptions struct {
	space   space.Name
	all     bool
	bundles bool
}

func ListCommand() *cli.Command {
	var o listOptions
	return &cli.Command{
		Name:  "list",
		Group: "Items",
		Usage: "list items of every space",
		Args:  "[KIND]",
		Long: `Of several items with one id, the one that a run uses comes first and the shadowed
ones are marked. Support files are not items and are not listed. Records of runs are
listed with --space threads only.

At a terminal the items that are part of rye are only counted, so that your own are seen;
--all and --space system list them. A pipe, --json and --wide have every item.`,
		Examples: []string{"rye list", "rye list tool --all", "rye list tool --space project", "rye list --bundles", "rye list --json"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Flags: []cli.Flag{
			cli.String(&o.space, "space", "only `SPACE`: project, user, system, or threads for records of runs").OneOf(append(env.SpaceNames(), search.RecordSpace)...),
			cli.Bool(&o.all, "all", "list the items that are part of rye too, at a terminal"),
			cli.Bool(&o.bundles, "bundles", "list the bundles of rye.lock and their state"),
		},
		Complete: complete.Kinds,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runList(ctx, c, &o)
		},
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

	standard bool // part of the program
}

func runList(ctx context.Context, c *cli.Call, o *listOptions) error {
	if o.bundles {
		return listBundles(ctx, c, o.space)
	}
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	table, err := h.Resolver.Readable(ctx)
	if err != nil {
		return err
	}
	for _, note := range h.Resolver.Notes() {
		c.UI.Warn("%s", note.Finding)
	}
	for _, root := range h.Spaces.Roots {
		if err := root.Ready(); err != nil {
			c.UI.Warn("the items of a space are not listed: %s", err)
		}
	}
	items := []listed{}
	for _, ext := range table.All() {
		want := c.Arg(0)
		if want != "" && want != string(ext.Kind) {
			continue
		}
		more, err := listKind(ctx, h, ext.Kind, o.space)
		if err != nil {
			return err
		}
		items = append(items, more...)
	}
	if table.Kind(item.Kind(c.Arg(0))) == nil &&
		c.Arg(0) != "" {
		for _, refused := range h.Resolver.RefusedKinds() {
			if string(refused.Kind) == c.Arg(0) {
				return refused.Err
			}
		}
		err := diag.New(diag.ItemNotFound, "listing items: %q is not a kind", c.Arg(0)).
			WithReason("kinds").
			WithDetail("kinds", kindNames(table))
		near := cli.Nearest(c.Arg(0), kindNames(table))
		if near != "" {
			err = err.WithReason("nearest_kind").WithDetail("nearest", near)
		}
		return err
	}
	return c.UI.Show(map[string]any{"items": items, "total": len(items)}, func() {
		shown := items
		if !o.all && o.space == "" && !c.UI.Whole() {
			shown = slices.DeleteFunc(slices.Clone(items), func(i listed) bool { return i.standard })
		}
		left := len(items) - len(shown)
		if left == 0 || len(shown) > 0 {
			showItems(c.UI, shown)
		}
		switch {
		case left == 1:
			c.UI.Note("1 item that is part of rye is not listed: rye list%s --all", ofKind(c.Arg(0)))
		case left > 1:
			c.UI.Note("%d items that are part of rye are not listed: rye list%s --all", left, ofKind(c.Arg(0)))
		}
		if o.space == space.Project && h.Spaces.Of(space.Project) == nil {
			c.UI.Note("There is no project here; rye init makes one.")
		}
	})
}

// ofKind returns the argument of rye list for a kind.
func ofKind(kind string) string {
	if kind == "" {
		return ""
	}
	return " " + kind
}

func listKind(
	ctx context.Context,
	h *project.Project,
	k item.Kind,
	only space.Name,
) ([]listed, error) {
	entries, err := h.Resolver.All(ctx, k)
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, e := range entries {
		if only != "" && only != search.RecordSpace && only != e.Root.Space {
			continue
		}
		it, err := h.Resolver.Open(ctx, e)
		if err != nil {
			out = append(out, listed{
				Ref:      e.Ref.String(),
				Space:    e.Root.Label(),
				Trust:    string(diag.CodeOf(err)),
				Shadowed: e.Shadow,
				standard: e.Root.Embedded(),
			})
			continue
		}
		if !it.Support() && it.Verdict.Runtime == (only == search.RecordSpace) {
			out = append(out, listed{e.Ref.String(), e.Root.Label(), it.Meta.Version, it.Verdict.Word(), e.Shadow, it.Meta.Description, e.Root.Embedded()})
		}
	}
	return out, nil
}

func showItems(u *cli.UI, items []listed) {
	if len(items) == 0 {
		u.Note("No items.")
		return
	}
	t := cli.NewTable("list")
	for _, i := range items {
		name := any(i.Ref)
		if i.Shadowed {
			name = u.Style(cli.Dim, i.Ref+" (shadowed)")
		}
		t.Add(name, i.Version, i.Space, i.Trust, i.Description)
	}
	u.Table(t)
}

// kindNames returns the kinds that the extractors declare.
func kindNames(table *extract.Table) []string {
	var out []string
	for _, ext := range table.All() {
		out = append(out, string(ext.Kind))
	}
	return out
}

// listBundles prints the locked bundles of a space and whether they are
// installed. The empty name is the project.
func listBundles(ctx context.Context, c *cli.Call, in space.Name) error {
	x, err := env.OpenPackages(ctx, c, &env.PackageOptions{Space: in})
	if err != nil {
		return err
	}
	list, err := x.List(ctx)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"bundles": list, "total": len(list)}, func() {
		if len(list) == 0 {
			c.UI.Note("No bundles.")
			return
		}
		t := cli.NewTable("bundles")
		for _, b := range list {
			name := b.ID
			if !b.Direct {
				name += " (needed by others)"
			}
			t.Add(name, b.Version, b.State, strings.TrimPrefix(
				strings.TrimSpace(view.SignedBy(b.Signers)),
				"signed by ",
			))
		}
		c.UI.Table(t)
	})
}
