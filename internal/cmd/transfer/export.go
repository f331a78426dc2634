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
	return &cli.Command{
		Name:  "export",
		Group: "Items",
		Usage: "write items for other programs",
		Subs:  []*cli.Command{exportSkillCommand()},
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
