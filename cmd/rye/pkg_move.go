package main

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
)

func acceptMoveCommand() *cli.Command {
	return &cli.Command{
		Name: "accept-move", Usage: "accept that the tag of a locked bundle holds something else now", Args: "BUNDLE",
		Long: `A released version that changed is an alarm: ask its publisher first, and not by way
of the repository. What the tag holds now is judged as any other version is; then
rye.lock and rye.sum record it in the place of what they held.`,
		Examples: []string{"rye trust accept-move github.com/acme/tools"},
		Codes:    refusals(),
		Flags:    packageFlags(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) { return x.AcceptMove(ctx, c.Arg(0)) })
		},
	}
}
