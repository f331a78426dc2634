package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

func loadCommand() *cli.Command {
	return &cli.Command{
		Name: "load", Group: "Items",
		Usage: "print a verified item, or copy it into a space of yours", Args: "REF",
		Long: `Prints the item's text. --to copies it, byte for byte, to the same id in the
project or user space, where you may edit it; it then shadows the original. The
copy keeps its signature. That of a system item counts for the original alone, so
sign the copy before you use it, and any copy after you changed it.`,
		Examples: []string{"rye load knowledge:rye/core/trust-model", "rye load tool:rye/core/runtimes/bash_runtime --to project"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.HashMismatch, diag.KeyUnknown, diag.AmbiguousItem},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "read the copy of `SPACE`: project, user or system"},
			&cli.StringFlag{Name: "to", Usage: "copy into `SPACE`: project or user"},
			&cli.BoolFlag{Name: "force", Usage: "replace a file that is there"},
		},
		Complete: completeItems(),
		Run:      runLoad,
	}
}

func runLoad(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	to := space.Name(c.Str("to"))
	if to != "" { // what was asked is checked before the item is
		if _, err := h.Verbs.Target(to); err != nil {
			return err
		}
	}
	ref, err := h.Resolver.Ref(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	it, err := h.Verbs.Load(ctx, primary.LoadCall{Ref: ref, Source: space.Name(c.Str("from"))})
	if err != nil {
		return err
	}
	if to == "" {
		data := map[string]any{"ref": ref.String(), "path": it.Path(), "digest": it.Digest, "trust": it.Verdict, "content": string(it.Bytes)}
		return c.UI.Show(data, func() { c.UI.Text(string(it.Bytes)) })
	}
	file, err := h.Verbs.Copy(ctx, it, to, c.Bool("force"))
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"ref": ref.String(), "from": it.Path(), "to": file}, func() {
		c.UI.Out("copied %s to %s", it.Path(), file)
		if it.Root.Embedded() {
			c.UI.Note("Its signature counts in the system space only: rye sign %s makes the copy yours.", ref)
		}
	})
}
