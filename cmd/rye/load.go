package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

func loadCommand() *command {
	return &command{
		name: "load", group: "Items",
		usage: "print a verified item, or copy it into a space of yours", args: "REF",
		long: `Prints the item's text. --to copies it, byte for byte, to the same id in the
project or user space, where you may edit it; it then shadows the original. The
copy keeps its signature. That of a system item counts for the original alone, so
sign the copy before you use it, and any copy after you changed it.`,
		examples: []string{"rye load knowledge:rye/core/trust-model", "rye load tool:rye/core/runtimes/bash_runtime --to project"},
		codes:    []diag.Code{diag.ItemNotFound, diag.HashMismatch, diag.KeyUnknown, diag.AmbiguousItem},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "read the copy of `SPACE`: project, user or system"},
			&cli.StringFlag{Name: "to", Usage: "copy into `SPACE`: project or user"},
			&cli.BoolFlag{Name: "force", Usage: "replace a file that is there"},
		},
		complete: completeItems(),
		run:      runLoad,
	}
}

func runLoad(ctx context.Context, c *call) error {
	h, err := c.house(ctx, strict)
	if err != nil {
		return err
	}
	to := space.Name(c.str("to"))
	if to != "" { // what was asked is checked before the item is
		if _, err := h.primary.Target(to); err != nil {
			return err
		}
	}
	ref, err := h.resolver.Ref(ctx, c.arg(0))
	if err != nil {
		return err
	}
	it, err := h.primary.Load(ctx, primary.LoadCall{Ref: ref, Source: space.Name(c.str("from"))})
	if err != nil {
		return err
	}
	if to == "" {
		data := map[string]any{"ref": ref.String(), "path": it.Path(), "digest": it.Digest, "trust": it.Verdict, "content": string(it.Bytes)}
		return c.ui.Show(data, func() { c.ui.Text(string(it.Bytes)) })
	}
	file, err := h.primary.Copy(ctx, it, to, c.bool("force"))
	if err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"ref": ref.String(), "from": it.Path(), "to": file}, func() {
		c.ui.Out("copied %s to %s", it.Path(), file)
		if it.Root.Embedded() {
			c.ui.Note("Its signature counts in the system space only: rye sign %s makes the copy yours.", ref)
		}
	})
}
