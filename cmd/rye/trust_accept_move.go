package main

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
)

func acceptMoveCommand() *cli.Command {
	var o packageOptions
	return &cli.Command{
		Name: "accept-move", Usage: "accept the new commit of a locked bundle's tag", Args: "BUNDLE",
		Long: `A released version that changes may be an attack: ask its publisher first, and not
through the repository. The new content must pass the checks of any other version.
Then rye.lock and rye.sum record it in place of the old content.`,
		Examples: []string{"rye trust accept-move github.com/acme/tools"},
		Codes:    packageCodes(),
		Flags:    packageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return changePackages(ctx, c, &o, func(x *project.Packages) (*packages.Result, error) { return x.AcceptMove(ctx, c.Arg(0)) })
		},
	}
}
