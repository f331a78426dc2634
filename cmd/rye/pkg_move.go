package main

import (
	"context"

	"github.com/ryeos/rye/packages"
)

func acceptMoveCommand() *command {
	return &command{
		name: "accept-move", usage: "accept that the tag of a locked bundle holds something else now", args: "BUNDLE",
		long: `A released version that changed is an alarm: ask its publisher first, and not by way
of the repository. What the tag holds now is judged as any other version is; then
rye.lock and rye.sum record it in the place of what they held.`,
		examples: []string{"rye trust accept-move github.com/acme/tools"},
		codes:    refusals(),
		flags:    packageFlags(),
		run: func(ctx context.Context, c *call) error {
			return c.changing(ctx, func(x *engine) (*packages.Result, error) { return x.AcceptMove(ctx, c.arg(0)) })
		},
	}
}
