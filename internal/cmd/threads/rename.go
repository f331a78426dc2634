package threads

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/session"
	"github.com/ryeos/rye/threads"
)

func threadsRenameCommand() *cli.Command {
	return &cli.Command{
		Name:  "rename",
		Args:  "THREAD NAME",
		Usage: "name a thread",
		Long: `The name is in lists, and commands find the thread by it. Without one, its inputs name it.
It is one line of at most 60 characters; what is longer is cut.`,
		Examples: []string{"rye threads rename triage-01jd 'flaky test'"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Complete: func(ctx context.Context, c *cli.Call) []string {
			if len(c.Args) > 0 {
				return nil // the name
			}
			return complete.Runs(ctx, c)
		},
		Run: runThreadsRename,
	}
}

func runThreadsRename(ctx context.Context, c *cli.Call) error {
	p, id, err := watch.OpenLast(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	_, err = threads.ReadStarted(p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		return diag.New(diag.ThreadState, "naming %s: it is a run of a graph; only a thread can be named", id).WithDetail("id", id)
	}
	if err != nil {
		return err
	}
	name, err := session.Rename(ctx, p, id, c.Args[1])
	if err != nil {
		return err
	}
	return c.UI.Show(
		map[string]any{"thread_id": id, "name": name},
		func() { c.UI.Out("%s %s", cli.RunLabel(c, id), name) },
	)
}
