package threads

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
)

func threadsAcceptCommand() *cli.Command {
	return &cli.Command{
		Name:  "accept",
		Args:  "RUN",
		Usage: "have a log continued that was set back to an earlier state",
		Long: `The state directory of the user account has the newest state of each log that the account
wrote. If the log in the project is an earlier one, for example from a backup, nothing
continues it: steps after it would be made again. This command records the present state
of the log as its newest, this one time. The log is verified first. If the whole log was
removed, give the whole id: a log with that id can be begun again.`,
		Examples: []string{"rye threads accept release-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken, diag.KeyUnknown, diag.ThreadState},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			id, err := watch.FindRun(ctx, c, p, c.Args[0])
			if diag.CodeOf(err) == diag.ThreadNotFound && graph.IsID(c.Args[0]) {
				id = c.Args[0]
				err = nil
			}
			if err != nil {
				return err
			}
			a, err := control.AcceptLog(ctx, p, id)
			if err != nil {
				return err
			}
			return c.UI.Show(a, func() {
				if a.Wrote > a.Lines {
					c.UI.Out(
						"accepted %s with %s; this account had written %d",
						id,
						cli.Plural(int(a.Lines), "line"),
						a.Wrote,
					)
					return
				}
				c.UI.Out("accepted %s with %s", id, cli.Plural(int(a.Lines), "line"))
			})
		},
	}
}
