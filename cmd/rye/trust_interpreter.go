package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
)

func trustInterpreterCommand() *cli.Command {
	return &cli.Command{
		Name: "interpreter", Usage: "let a program inside a project interpret its tools", Args: "PATH",
		Long: `A Python of a project's .venv or a node of its node_modules is code that nobody
signed. It runs only after this consent, which holds for these very bytes, and
for those of a pyvenv.cfg beside it.`,
		Examples: []string{"rye trust interpreter .venv/bin/python"},
		Codes:    []diag.Code{diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := envOf(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			path := c.Path(c.Arg(0))
			digest, err := exec.DigestProgram(path)
			if err != nil {
				return diag.New(diag.FileSystemError, "reading the interpreter: %w", err)
			}
			all := h.ReadConsents()
			all[path] = digest.String()
			if err := h.WriteConsents(all); err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"path": path, "digest": all[path]}, func() {
				c.UI.Out("%s may interpret tools, as long as it stays %s", path, all[path])
			})
		},
	}
}
