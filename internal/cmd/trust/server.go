package trust

import (
	"context"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/consent"
	"github.com/ryeos/rye/internal/project"
)

func trustServerCommand() *cli.Command {
	return &cli.Command{
		Name:  "language-server",
		Usage: "permit a language server to run for this project",
		Args:  "SERVER…",
		Long: `A language server runs code that files of the project name: build scripts, compiler
plugins, a compiler in node_modules. No signature covers that code, and a user or
agent that can write files of the project, also with file tools only, can change it.
So rye/lsp/lsp starts a server only after this consent. It is valid for this project
and for the server's current entry in config:lsp/servers.`,
		Examples: []string{"rye trust language-server gopls", "rye trust language-server gopls typescript"},
		Codes:    []diag.Code{diag.FileSystemError, diag.ItemNotFound},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			if _, err := p.NeedProject(); err != nil {
				return err
			}
			servers, err := p.Resolver.Config(ctx, consent.ServerConfig)
			if err != nil {
				return err
			}
			consents := consent.Record(p.Dirs.State)
			given, err := consents.GiveServers(p.Spaces.ProjectDir, servers.Root, c.Args)
			if err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"project": p.Spaces.ProjectDir, "servers": given}, func() {
				for _, id := range slices.Sorted(maps.Keys(given)) {
					c.UI.Out("%s may run for %s", id, p.Spaces.ProjectDir)
				}
			})
		},
	}
}
