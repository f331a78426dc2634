package graph

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
)

func graphListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the runs of graphs in this project",
		Examples: []string{"rye graph list"},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			runs, err := graph.List(ctx, p.Spaces.ProjectDir)
			if err != nil {
				return err
			}
			if runs == nil {
				runs = []*graph.Summary{}
			}
			return c.UI.Show(
				map[string]any{"runs": runs},
				func() { showRuns(c, runs) },
			)
		},
	}
}

func showRuns(c *cli.Call, runs []*graph.Summary) {
	if len(runs) == 0 {
		c.UI.Out("no runs")
		return
	}
	t := cli.NewTable("runs")
	for _, r := range runs {
		state := r.State
		if r.Reason != "" {
			state += " (" + r.Reason + ")"
		}
		started, _ := time.Parse(time.RFC3339Nano, r.Started) // rye wrote it
		t.Add(
			watch.NumberCell(r.Number),
			watch.BareRef(r.Graph),
			state,
			watch.Age(c, started),
			r.Node,
			fmt.Sprint(r.Steps),
			r.ID,
			r.Started,
		)
	}
	c.UI.Table(t)
}

func graphLogCommand() *cli.Command {
	var state bool
	return &cli.Command{
		Name:     "log",
		Args:     "RUN",
		Usage:    "show the steps of a run",
		Examples: []string{"rye graph log release-01jd", "rye graph log release-01jd --state"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken},
		Flags:    []cli.Flag{cli.Bool(&state, "state", "print the state after the last step")},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			id, err := watch.FindRun(ctx, c, p, c.Args[0])
			if err != nil {
				return err
			}
			l, err := graph.ReadLog(p.Spaces.ProjectDir, id)
			if err != nil {
				return err
			}
			return c.UI.Show(l, func() { showLog(c, l, state) })
		},
	}
}

func showLog(c *cli.Call, l *graph.Log, state bool) {
	if state {
		b, _ := jsonx.MarshalIndent(l.State)
		c.UI.Raw(string(hidden.JSON(b)) + "\n")
		return
	}
	t := cli.NewTable("steps")
	for _, s := range l.Steps {
		t.Add(fmt.Sprintf("%4d", s.Seq), s.Time, s.Event, s.Text)
	}
	c.UI.Table(t)
}
