package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/space"
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
	if to := c.str("to"); to != "" { // what was asked is checked before the item is
		if _, err := h.target(space.Name(to)); err != nil {
			return err
		}
	}
	ref, err := h.resolver.Ref(ctx, c.arg(0))
	if err != nil {
		return err
	}
	it, err := h.primary.Load(ctx, ref)
	if err != nil {
		return err
	}
	if c.str("to") == "" {
		data := map[string]any{"ref": ref.String(), "path": it.Path(), "digest": it.Digest, "trust": it.Verdict, "content": string(it.Bytes)}
		return c.ui.Show(data, func() { c.ui.Text(string(it.Bytes)) })
	}
	file, err := c.copyTo(ctx, h, it)
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

func (c *call) copyTo(ctx context.Context, h *house, it *resolve.Item) (string, error) {
	if resolve.Sealed(it.Ref) {
		return "", diag.New(diag.PermissionDenied, "copying %s: it is sealed, a copy would never be used", it.Ref).
			WithHint("a runtime of your own may use it: name it in executor_id")
	}
	root, err := h.target(space.Name(c.str("to")))
	if err != nil {
		return "", err
	}
	if root == it.Root {
		return "", diag.New(diag.AmbiguousItem, "copying %s: it is in the %s space already", it.Ref, root.Space)
	}
	if err := c.vacant(ctx, h, it, root); err != nil {
		return "", err
	}
	file := root.Path(it.Rel)
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = atomicfile.Write(file, it.Bytes, 0o644)
	}
	if err == nil && it.Signature != nil {
		err = atomicfile.Write(file+extract.DetachedExt, it.Signature, 0o644)
	}
	if err != nil {
		return "", diag.New(diag.FileSystemError, "copying %s: %w", it.Ref, err)
	}
	return root.Display(it.Rel), nil
}

// target returns the root of a space that may be written.
func (h *house) target(name space.Name) (*space.Root, error) {
	switch name {
	case space.Project:
		return h.needProject()
	case space.User:
		if root := h.spaces.Of(space.User); root != nil {
			return root, nil
		}
		return nil, diag.New(diag.FileSystemError, "finding the user space: the environment names no home folder").WithHint("set HOME")
	}
	return nil, diag.New(diag.Usage, "copying an item: %q is no space to copy to", name).WithHint("write --to project or --to user")
}

// vacant returns nil when the root holds no file for the item's ref, or the
// user said --force and it stands at the very path.
func (c *call) vacant(ctx context.Context, h *house, it *resolve.Item, root *space.Root) error {
	all, err := h.resolver.Shadows(ctx, it.Ref)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Root == root && !(c.bool("force") && e.Rel == it.Rel) {
			return diag.New(diag.AmbiguousItem, "copying %s: %s exists", it.Ref, root.Display(e.Rel)).WithHint("--force replaces it")
		}
	}
	return nil
}
