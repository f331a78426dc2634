package trust

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
)

func trustDirectoryCommand() *cli.Command {
	return &cli.Command{
		Name:  "directory",
		Usage: "accept a project that another user owns",
		Args:  "DIR",
		Long: `A project decides what runs and what rye sign '*' signs. rye refuses one whose directory,
.ai, rye.yaml, rye.lock or rye.sum belongs to another user of the machine until you
accept it once, as git does (safe.directory). Root's files need no acceptance, and
neither do yours when you run rye with sudo. Signatures are checked as everywhere.

The acceptance is valid for this directory and its present owners. The file
directories.json in rye's state directory contains it; a line removed there ends it.`,
		Examples: []string{"rye trust directory .", "rye trust directory /srv/team/agents"},
		Codes:    []diag.Code{diag.FileSystemError, diag.ConfigError},
		Run: func(_ context.Context, c *cli.Call) error {
			dir := c.Path(c.Arg(0))
			owners, err := env.Of(c).AcceptDirectory(dir)
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"path": dir, "owners": append([]string{}, owners...)},
				func() {
					if len(owners) == 0 {
						c.UI.Out("%s belongs to no other user; rye needs no acceptance", dir)
						return
					}
					c.UI.Out("%s of %s is accepted", dir, strings.Join(owners, " and "))
				},
			)
		},
	}
}
