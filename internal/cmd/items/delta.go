package items

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// deltaOptions are the flags of rye delta.
type deltaOptions struct{ diff bool }

func DeltaCommand() *cli.Command {
	var o deltaOptions
	return &cli.Command{
		Name:  "delta",
		Group: "Items",
		Usage: "list items that shadow others and show the differences",
		Args:  "[REF…]",
		Long: `An item of the project shadows an item with the same id in the user or system space,
and an item of the user shadows one of the system. Every such pair is listed.`,
		Examples: []string{"rye delta", "rye delta tool:rye/core/runtimes/bash_runtime --diff"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Flags:    []cli.Flag{cli.Bool(&o.diff, "diff", "print the lines that differ")},
		Complete: complete.Items(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runDelta(ctx, c, &o)
		},
	}
}

// shadowing is an item and the next item that it shadows.
type shadowing struct {
	Above primary.Element `json:"above"`
	Below primary.Element `json:"below"`
	Same  bool            `json:"same,omitempty"` // byte for byte
	Diff  string          `json:"diff,omitempty"`
}

func runDelta(ctx context.Context, c *cli.Call, o *deltaOptions) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	entries, err := deltaEntries(ctx, c, h)
	if err != nil {
		return err
	}
	pairs := []shadowing{}
	for _, e := range entries {
		more, err := shadowings(ctx, h, e, o.diff)
		if err != nil {
			return err
		}
		pairs = append(pairs, more...)
	}
	return c.UI.Show(
		map[string]any{"pairs": pairs},
		func() { showShadowings(c.UI, pairs) },
	)
}

// deltaEntries returns the shadowed files of the given refs, or of all items.
func deltaEntries(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
) ([]resolve.Entry, error) {
	var out []resolve.Entry
	for _, word := range c.Args {
		ref, err := h.Resolver.Ref(ctx, word)
		if err != nil {
			return nil, err
		}
		all, err := h.Resolver.Shadows(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	if len(c.Args) > 0 {
		return shadowed(out), nil
	}
	table, err := h.Resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	for _, ext := range table.All() {
		all, err := h.Resolver.All(ctx, ext.Kind)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return shadowed(out), nil
}

func shadowed(entries []resolve.Entry) []resolve.Entry {
	var out []resolve.Entry
	for _, e := range entries {
		if e.Shadow {
			out = append(out, e)
		}
	}
	return out
}

// shadowings pairs a shadowed file with the file directly before it in the
// resolution order.
func shadowings(
	ctx context.Context,
	h *project.Project,
	e resolve.Entry,
	diff bool,
) ([]shadowing, error) {
	all, err := h.Resolver.Shadows(ctx, e.Ref)
	if err != nil {
		return nil, err
	}
	var out []shadowing
	for i := 1; i < len(all); i++ {
		if all[i].Root != e.Root || all[i].Rel != e.Rel {
			continue
		}
		above, err := h.Resolver.Open(ctx, all[i-1])
		if err != nil {
			return nil, err
		}
		below, err := h.Resolver.Open(ctx, all[i])
		if err != nil {
			return nil, err
		}
		s := shadowing{Above: primary.ElementOf(above), Below: primary.ElementOf(below), Same: above.Digest == below.Digest}
		if diff {
			s.Diff = linediff.Unified(
				below.Path(),
				above.Path(),
				below.Bytes,
				above.Bytes,
			)
		}
		out = append(out, s)
	}
	return out, nil
}

func showShadowings(u *cli.UI, pairs []shadowing) {
	if len(pairs) == 0 {
		u.Note("Nothing shadows anything.")
		return
	}
	t := cli.NewTable("shadowed")
	for _, p := range pairs {
		t.Add(
			p.Above.Ref,
			p.Above.Path,
			string(p.Above.Status),
			p.Below.Path,
		)
	}
	u.Table(t)
	for _, p := range pairs {
		if p.Diff != "" {
			u.Out("")
			u.Text(p.Diff)
		}
	}
}
