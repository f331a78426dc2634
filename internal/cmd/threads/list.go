package threads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/copies"
)

func threadsListCommand() *cli.Command {
	var all, active bool
	return &cli.Command{
		Name:  "list",
		Usage: "list the threads of this project",
		Long: `Lists the threads of the project from the registry of the user account, the newest
first. The state of a thread whose process was stopped is error (orphaned): rye threads
resume continues it. rye graph list lists the runs of graphs.`,
		Examples: []string{"rye threads list", "rye threads list --active --all"},
		Flags: []cli.Flag{
			cli.Bool(&active, "active", "only threads that a process runs"),
			cli.Bool(&all, "all", "the threads of all projects of this user account"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			list, err := control.List(ctx, p, all)
			if err != nil {
				return err
			}
			if active {
				list = slices.DeleteFunc(list, func(t control.Entry) bool {
					return t.State != threads.Running
				})
			}
			old, err := copies.Old(ctx, p)
			if err != nil {
				return err
			}
			for _, wc := range old {
				c.UI.Note("%s", copyWarning(wc))
			}
			return c.UI.Show(map[string]any{"threads": list}, func() {
				showThreadList(c, list)
				runs, err := graph.IDs(p.Spaces.ProjectDir)
				if len(list) == 0 && err == nil && len(runs) > 0 {
					c.UI.Note("rye graph list lists the runs of graphs: there are %d.", len(runs))
				}
			})
		},
	}
}

func threadsTreeCommand() *cli.Command {
	return &cli.Command{
		Name:     "tree",
		Args:     "THREAD",
		Usage:    "list a thread with those that it started",
		Examples: []string{"rye threads tree triage-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			id, err := watch.FindRun(ctx, c, p, c.Args[0])
			if diag.CodeOf(err) == diag.ThreadNotFound { // its log is removed, or it is one of another project
				id = c.Args[0]
				err = nil
			}
			if err != nil {
				return err
			}
			list, err := control.Tree(ctx, p, id)
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"threads": list},
				func() { showThreadList(c, list) },
			)
		},
	}
}

func showThreadList(c *cli.Call, list []control.Entry) {
	if len(list) == 0 {
		c.UI.Out("no threads")
		return
	}
	t := cli.NewTable("threads")
	for _, l := range list {
		state := l.State
		pid := ""
		if l.Reason != "" {
			state += " (" + l.Reason + ")"
		}
		if l.Waiting != nil {
			state = l.Waiting.State(c.Now(), 60)
		}
		if l.PID > 0 {
			pid = fmt.Sprint(l.PID)
		}
		t.Add(watch.NumberCell(l.Number), strings.Repeat("  ", l.Level)+watch.BareRef(l.Item), state, watch.Age(c, l.Started), activity.Money(l.Spend), activity.Money(l.Max), fmt.Sprint(l.Turns),
			l.Name, l.ID, pid, l.Started.Format(time.RFC3339))
	}
	c.UI.Table(t)
}
