package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

func deltaCommand() *command {
	return &command{
		name: "delta", group: "Items",
		usage: "show which items shadow others, and how they differ", args: "[REF…]",
		long: `An item of the project takes the place of one with the same id in the user or
system space. Every such pair is listed; --diff prints the lines that differ.`,
		examples: []string{"rye delta", "rye delta tool:rye/core/runtimes/bash_runtime --diff"},
		codes:    []diag.Code{diag.ItemNotFound},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "diff", Usage: "print the differing lines"}},
		complete: completeItems(),
		run:      runDelta,
	}
}

// shadowing is one item and the one that it hides.
type shadowing struct {
	Above primary.Element `json:"above"`
	Below primary.Element `json:"below"`
	Same  bool            `json:"same,omitempty"` // byte for byte
	Diff  string          `json:"diff,omitempty"`
}

func runDelta(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	entries, err := c.deltaEntries(ctx, h)
	if err != nil {
		return err
	}
	pairs := []shadowing{}
	for _, e := range entries {
		more, err := c.shadowings(ctx, h, e)
		if err != nil {
			return err
		}
		pairs = append(pairs, more...)
	}
	return c.ui.Show(map[string]any{"pairs": pairs}, func() { c.ui.shadowings(pairs) })
}

// deltaEntries returns the hidden files: of the refs named, or of all.
func (c *call) deltaEntries(ctx context.Context, h *house) ([]resolve.Entry, error) {
	var out []resolve.Entry
	for _, word := range c.args {
		ref, err := h.resolver.Ref(ctx, word)
		if err != nil {
			return nil, err
		}
		all, err := h.resolver.Shadows(ctx, ref)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	if len(c.args) > 0 {
		return shadowed(out), nil
	}
	table, err := h.resolver.Table(ctx)
	if err != nil {
		return nil, err
	}
	for _, ext := range table.All() {
		all, err := h.resolver.All(ctx, ext.Kind)
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

// shadowings pairs a hidden file with the one right above it.
func (c *call) shadowings(ctx context.Context, h *house, e resolve.Entry) ([]shadowing, error) {
	all, err := h.resolver.Shadows(ctx, e.Ref)
	if err != nil {
		return nil, err
	}
	var out []shadowing
	for i := 1; i < len(all); i++ {
		if all[i].Root != e.Root || all[i].Rel != e.Rel {
			continue
		}
		above, err := h.resolver.Open(ctx, all[i-1])
		if err != nil {
			return nil, err
		}
		below, err := h.resolver.Open(ctx, all[i])
		if err != nil {
			return nil, err
		}
		s := shadowing{Above: primary.ElementOf(above), Below: primary.ElementOf(below), Same: above.Digest == below.Digest}
		if c.bool("diff") {
			s.Diff = linediff.Unified(below.Path(), above.Path(), below.Bytes, above.Bytes)
		}
		out = append(out, s)
	}
	return out, nil
}

func (u *ui) shadowings(pairs []shadowing) {
	if len(pairs) == 0 {
		u.Note("Nothing shadows anything.")
		return
	}
	t := &table{header: []string{"ITEM", "USED", "TRUST", "HIDDEN"}}
	for _, p := range pairs {
		t.add(p.Above.Ref, p.Above.Path, string(p.Above.Status), p.Below.Path)
	}
	u.Table(t)
	for _, p := range pairs {
		if p.Diff != "" {
			u.Out("")
			u.Text(p.Diff)
		}
	}
}
