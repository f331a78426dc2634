package run

import (
	"context"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/startheap"
	"github.com/ryeos/rye/threads/tree"
)

// ThreadProcessCommand is the process of a thread that rye spawn started.
// It reads what to do from stdin, a pipe that is closed afterwards, on every system.
func ThreadProcessCommand() *cli.Command {
	return &cli.Command{
		Name:   "thread-process",
		Hidden: true,
		Usage:  "run a thread that another process of rye describes on stdin",
		Run: func(ctx context.Context, c *cli.Call) error {
			startheap.Reserve(c.Getenv("GOGC"))
			return tree.RunProcess(ctx, env.Of(c), c.Stdin)
		},
	}
}
