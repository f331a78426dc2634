package trust

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/project"
)

func trustInterpreterCommand() *cli.Command {
	return &cli.Command{
		Name:  "interpreter",
		Usage: "permit a program in a project to run its tools",
		Args:  "PATH",
		Long: `The Python of a project's .venv and the node of its node_modules are not signed. They
run only after this consent, which is valid for the current bytes of the program, of
the pyvenv.cfg next to it, and of the files that this Python runs at every start
(*.pth, sitecustomize). It does not cover the packages that are installed there. A tool
that imports only the standard library and its own files does not need it.`,
		Examples: []string{"rye trust interpreter .venv/bin/python"},
		Codes:    []diag.Code{diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			path := c.Path(c.Arg(0))
			digest, err := exec.DigestProgram(path)
			if err != nil {
				return diag.New(diag.FileSystemError, "reading the interpreter: %w", err)
			}
			if err := consent.Record(h.Dirs.State).GiveInterpreter(path, digest.String()); err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"path": path, "digest": digest.String()}, func() {
				c.UI.Out("%s may run tools while its digest is %s", path, digest)
			})
		},
	}
}
