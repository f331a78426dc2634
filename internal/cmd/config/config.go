package config

import (
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Group: "Items",
		Usage: "show and set settings, show policy rules",
		Subs:  []*cli.Command{configShowCommand(), configSetCommand(), configPolicyCommand()},
	}
}

// configShowOptions are the flags of rye config show.
type configShowOptions struct{ origin bool }

func configShowCommand() *cli.Command {
	var o configShowOptions
	return &cli.Command{
		Name:  "show",
		Usage: "print a configuration merged from all spaces",
		Args:  "ID",
		Long: `Merges the configuration ID of the system, user and project space, in this order. A
file that does not verify is an error. Mappings are merged recursively and lists whose
elements have an id are merged by id; the nearer space replaces all other values.

agent/allowance is what agents and items may do at most. Its values are not merged: only
the system and your own items permit more, and projects, bundles, rye.yaml and policy
files restrict. With --origin each line has the file that decides.`,
		Examples: []string{"rye config show agent/mcp", "rye config show agent/mcp --origin", "rye config show agent/allowance --origin"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.Unsigned, diag.KeyUnknown, diag.CircularDependency},
		Flags:    []cli.Flag{cli.Bool(&o.origin, "origin", "show the file of each value")},
		Complete: complete.Items(item.Config),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runConfigShow(ctx, c, &o)
		},
	}
}

func runConfigShow(ctx context.Context, c *cli.Call, o *configShowOptions) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if c.Arg(0) == policy.AllowanceID {
		return showAllowance(ctx, c, h, o.origin)
	}
	s, err := h.Resolver.Config(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	data := map[string]any{"ref": s.Ref.String(), "value": s.Root, "origins": s.Origins()}
	return c.UI.Show(data, func() {
		showSettings(c.UI, s, o.origin)
	})
}

// showAllowance prints what all sources permit together.
func showAllowance(ctx context.Context, c *cli.Call, h *project.Project, origin bool) error {
	_, values, err := h.Allowance(ctx)
	if err != nil {
		return err
	}
	value := map[string]any{}
	origins := map[string]string{}
	t := cli.NewTable(cli.Pick(origin, "origins", "config"))
	for _, o := range values {
		value[o.Key], origins[o.Key] = o.Value, o.File
		b, err := jsonx.Marshal(o.Value)
		if err != nil {
			return err
		}
		if origin {
			t.Add(
				o.Key,
				string(b),
				c.UI.Style(cli.Dim, o.Where()),
			)
		} else {
			t.Add(o.Key, string(b))
		}
	}
	ref := item.Ref{Kind: item.Config, ID: policy.AllowanceID}
	return c.UI.Show(
		map[string]any{"ref": ref.String(), "value": value, "origins": origins},
		func() { c.UI.Table(t) },
	)
}

func showSettings(u *cli.UI, s *resolve.Settings, origin bool) {
	values := map[string]any{}
	origins := s.Origins()
	leaves(values, s.Root, "", origins)
	t := cli.NewTable(cli.Pick(origin, "origins", "config"))
	for _, path := range slices.Sorted(maps.Keys(values)) {
		b, err := jsonx.Marshal(values[path])
		if err != nil {
			continue
		}
		if origin {
			t.Add(path, string(b), u.Style(cli.Dim, origins[path]))
		} else {
			t.Add(path, string(b))
		}
	}
	u.Table(t)
}

// leaves adds the values that have their own origin to out, by path.
func leaves(out map[string]any, v any, path string, origins map[string]string) {
	if _, direct := origins[path]; direct {
		out[path] = v
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			leaves(out, e, tree.Join(path, k), origins)
		}
	case []any:
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				id, _ := o["id"].(string)
				leaves(out, o, tree.Join(path, id), origins)
			}
		}
	}
}
