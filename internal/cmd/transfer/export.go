package transfer

import (
	"context"
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/importing"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
)

func ExportCommand() *cli.Command {
	var o copyOptions
	return &cli.Command{
		Name:  "export",
		Group: "Items",
		Usage: "write items for other programs",
		Long: `Writes copies of the reviewed components of adopted sources where other programs read
them: for each of the clients, below export in rye.yaml, at the paths of
config:export/clients. Copies are equal byte for byte, and .ai/adopted/SHA256SUMS lists
them: sha256sum -c checks them without rye. A file that rye did not write, or that was
edited since, is not overwritten. Unchanged copies of components that are not used any
more are removed. rye verify compares the copies, too.`,
		Examples: []string{"rye export", "rye export --check", "rye export --restore .claude/skills/pdf"},
		Codes:    []diag.Code{diag.Drift, diag.Conflict, diag.PathEscape, diag.AmbiguousItem, diag.Usage},
		Flags: []cli.Flag{
			cli.Bool(&o.check, "check", "write nothing, and exit with 3 if a copy differs"),
			cli.String(&o.restore, "restore", "write the reviewed files of the copy at `PATH` over the existing ones"),
		},
		Subs: []*cli.Command{exportSkillCommand()},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runCopies(ctx, c, o)
		},
	}
}

func exportSkillCommand() *cli.Command {
	var to string
	return &cli.Command{
		Name:  "skill",
		Usage: "write a skill as a folder with SKILL.md",
		Args:  "ID",
		Long: `Verifies every file of the skill and writes them as they are, without signatures, to
a new directory: the last part of the id, or the one of --to. Files that rye import
wrote are copied byte by byte.`,
		Examples: []string{"rye export skill pdf", "rye export skill pdf --to ~/.claude/skills/pdf"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.Unsigned, diag.HashMismatch, diag.KeyUnknown, diag.FileSystemError},
		Flags:    []cli.Flag{cli.String(&to, "to", "write to `DIR`, which must not exist")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runExportSkill(ctx, c, to)
		},
	}
}

func runExportSkill(ctx context.Context, c *cli.Call, to string) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	ref, err := item.ParseRef(c.Arg(0), interop.KindSkill)
	if err != nil {
		return err
	}
	if to == "" {
		to = path.Base(ref.ID)
	}
	done, err := importing.ExportSkill(ctx, h, ref, c.Path(to))
	if err != nil {
		return err
	}
	data := map[string]any{"ref": done.Ref, "to": to, "files": done.Files}
	return c.UI.Show(data, func() {
		for _, f := range done.Files {
			c.UI.Out("%s", f)
		}
		c.UI.Note(
			"%s: %s written to %s",
			done.Ref,
			cli.Plural(len(done.Files), "file"),
			to,
		)
	})
}
