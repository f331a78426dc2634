package main

import (
	"context"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

func configCommand() *command {
	return &command{
		name: "config", group: "Items",
		usage: "show settings as they are after all layers",
		subs:  []*command{configShowCommand(), configPolicyCommand()},
	}
}

func configShowCommand() *command {
	return &command{
		name: "show", usage: "print one configuration, merged from system, user and project", args: "ID",
		long: `Each layer is verified by itself; one that does not verify is an error, never left
out. Mappings merge deep, lists of elements with an id merge by id, everything
else is replaced. --origin shows which file each value comes from.`,
		examples: []string{"rye config show agent/limits", "rye config show agent/limits --origin"},
		codes:    []diag.Code{diag.ItemNotFound, diag.Unsigned, diag.KeyUnknown, diag.CircularDependency},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "origin", Usage: "show where each value comes from"}},
		complete: completeItems(item.Config),
		run:      runConfigShow,
	}
}

func runConfigShow(ctx context.Context, c *call) error {
	h, err := c.house(ctx, strict)
	if err != nil {
		return err
	}
	s, err := h.resolver.Config(ctx, c.arg(0))
	if err != nil {
		return err
	}
	data := map[string]any{"ref": s.Ref.String(), "value": s.Root, "origins": s.Origins}
	return c.ui.Show(data, func() { c.ui.settings(s, c.bool("origin")) })
}

func (u *ui) settings(s *resolve.Settings, origin bool) {
	values := map[string]any{}
	leaves(values, s.Root, "", s.Origins)
	t := &table{}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		b, err := jsonx.Marshal(values[path])
		if err != nil {
			continue
		}
		if origin {
			t.add(path, string(b), u.Style(dim, s.Origins[path]))
		} else {
			t.add(path, string(b))
		}
	}
	u.Table(t)
}

// leaves collects the values that have an origin of their own, by path.
func leaves(out map[string]any, v any, path string, origins map[string]string) {
	if _, own := origins[path]; own {
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
