package threads

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/transcript"
)

// tailOptions are the flags of rye threads tail.
type tailOptions struct {
	follow, events bool
}

func threadsTailCommand() *cli.Command {
	var o tailOptions
	return &cli.Command{
		Name:  "tail",
		Args:  "RUN",
		Usage: "show what a thread or run does and has done",
		Long: `Prints what rye run directive or rye graph run prints, from the first line of the log.
--follow continues until the thread or run ends or is suspended. --events prints the lines of the log as
JSON.`,
		Examples: []string{"rye threads tail triage-01jd", "rye threads tail release-01jd -f"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Flags: []cli.Flag{
			cli.Bool(&o.follow, "follow", "continue until the run ends or is suspended").Alias("f"),
			cli.Bool(&o.events, "events", "print the lines of the log as JSON"),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenRun(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			if o.events || c.UI.AsJSON {
				return tailEvents(ctx, c, p, id, o.follow)
			}
			return watch.TailRun(ctx, c, p, id, o.follow)
		},
	}
}

// tailEvents prints the lines of a log as JSON.
func tailEvents(ctx context.Context, c *cli.Call, p *project.Project, id string, follow bool) error {
	dir := p.Spaces.ProjectDir
	if _, err := transcript.First(dir, id); err != nil {
		return err
	}
	c.UI.AsJSON = true
	c.UI.Lines = true
	log := transcript.NewReader(dir, id)
	return watch.EachLine(ctx, dir, id, follow, func() error {
		return log.Next(func(l *transcript.Line) error {
			return c.UI.Event(watch.RunEvent{
				RunID: id,
				Seq:   l.Seq,
				Time:  l.Time,
				Event: l.Event,
				Data:  l.Data,
			})
		})
	})
}
