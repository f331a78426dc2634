package items

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
)

// loadOptions are the flags of rye load.
type loadOptions struct {
	from, to space.Name
	force    bool
}

func LoadCommand() *cli.Command {
	var o loadOptions
	return &cli.Command{
		Name:  "load",
		Group: "Items",
		Usage: "print a verified item, or copy it into your space",
		Args:  "KIND|REF|PATH [ID]",
		Long: `Prints the text of the item. With --to, copies it unchanged to the same id in the
project or user space, where you can edit it. The copy shadows the original.

Sign a copy again after you change it. The copy of a system item needs your
signature before its first use: its own signature is valid in the system space only.`,
		Examples: []string{"rye load knowledge rye/core/trust-model", "rye load tool:rye/core/runtimes/bash_runtime --to project"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.HashMismatch, diag.KeyUnknown, diag.AmbiguousItem},
		Flags: []cli.Flag{
			cli.String(&o.from, "from", "read the item of `SPACE`: project, user or system").OneOf(env.SpaceNames()...),
			cli.String(&o.to, "to", "copy into `SPACE`: project or user").OneOf(
				string(space.Project),
				string(space.User),
			),
			cli.Bool(&o.force, "force", "replace an existing file"),
		},
		Needs:    []cli.Need{{Flag: &o.force, With: &o.to}},
		Complete: complete.Item(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runLoad(ctx, c, &o)
		},
	}
}

func runLoad(ctx context.Context, c *cli.Call, o *loadOptions) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if o.to != "" { // report an impossible target before reading the item
		if _, err := h.Verbs.Target(o.to); err != nil {
			return err
		}
	}
	ref, err := project.OneRef(ctx, h, c.Args)
	if err != nil {
		return err
	}
	it, err := h.Verbs.Load(ctx, primary.LoadCall{Ref: ref, Held: policy.Person(), Source: o.from})
	if err != nil {
		return err
	}
	if it.Verdict.Runtime {
		c.UI.Warn("%s is %s", it.Path(), primary.RecordWarning)
	}
	for _, f := range primary.Suspicious(it) {
		c.UI.Warn("%s", f)
	}
	if o.to == "" {
		data := map[string]any{
			"ref":     ref.String(),
			"path":    it.Path(),
			"digest":  it.Digest,
			"trust":   it.Verdict,
			"content": string(it.Bytes),
		}
		return c.UI.Show(data, func() {
			c.UI.Text(string(it.Bytes))
		})
	}
	file, err := h.Verbs.Copy(ctx, it, o.to, o.force)
	if err != nil {
		return err
	}
	if o.to == space.Project {
		if err := relock.RefreshCopied(ctx, h, ref); err != nil {
			return err
		}
	}
	return c.UI.Show(
		map[string]any{"ref": ref.String(), "from": it.Path(), "to": file},
		func() {
			c.UI.Out("copied %s to %s", it.Path(), file)
			if it.Root.Embedded() {
				c.UI.Note("its signature is valid in the system space only: rye sign %s", ref)
			}
		},
	)
}
