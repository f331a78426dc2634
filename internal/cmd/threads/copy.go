package threads

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/workcopy"
	"github.com/ryeos/rye/threads/copies"
)

func threadsDiffCommand() *cli.Command {
	var stat bool
	return &cli.Command{
		Name:  "diff",
		Args:  "THREAD",
		Usage: "print what a thread changed in its working copy",
		Long: `Compares the working copy of a thread that was started with --workspace worktree or copy
with the state that it began with. New files that git ignores are left out of a worktree.
A path that rye threads apply writes only if you name it is marked with its reason.`,
		Examples: []string{"rye threads diff triage-01jd", "rye threads diff triage-01jd --stat"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Flags:    []cli.Flag{cli.Bool(&stat, "stat", "print the paths only")},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsDiff(ctx, c, stat)
		},
	}
}

func runThreadsDiff(ctx context.Context, c *cli.Call, stat bool) error {
	p, id, err := watch.OpenRun(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	diff, err := copies.DiffOf(ctx, p, id, stat)
	if err != nil {
		return err
	}
	return c.UI.Show(diff, func() {
		for i, ch := range diff.Changes {
			if stat || ch.Why != "" {
				showCopyChange(c.UI, ch)
			}
			if !stat && diff.Diffs[i] != "" {
				c.UI.Text(diff.Diffs[i])
			}
		}
		if len(diff.Changes) == 0 {
			c.UI.Note("the thread has changed nothing")
		}
	})
}

func showCopyChange(u *cli.UI, ch workcopy.Change) {
	if ch.Why != "" {
		u.Out("%-8s  %s  (withheld: %s)", ch.Kind, ch.Path, ch.Why)
		return
	}
	u.Out("%-8s  %s", ch.Kind, ch.Path)
}

// copyWarning states when gc removes a copy.
func copyWarning(c copies.Copy) string {
	return fmt.Sprintf("rye threads gc removes the working copy of %s from %s; apply or drop it", c.ID, c.Removed.Format(time.DateOnly))
}

func threadsApplyCommand() *cli.Command {
	var check bool
	return &cli.Command{
		Name:  "apply",
		Args:  "THREAD [PATH…]",
		Usage: "bring the changes of a thread's working copy to the project",
		Long: `Writes the files that the thread changed, at or below the paths, into the project. A text
that the project changed too is merged. If one file cannot be merged, nothing is written
and the error names every such file. A protected path is written only if you name it; a
link that leads out of the project, and a file of a submodule, never. A signed item that
the thread changed has no valid signature until you sign it. If the command is stopped,
the next one about this copy completes what it had begun.`,
		Examples: []string{"rye threads apply triage-01jd --check", "rye threads apply triage-01jd src/"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.Conflict, diag.PathEscape},
		Flags:    []cli.Flag{cli.Bool(&check, "check", "change nothing; fail if a file cannot be merged")},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsApply(ctx, c, check)
		},
	}
}

func runThreadsApply(ctx context.Context, c *cli.Call, check bool) error {
	p, id, err := watch.OpenRun(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	done, err := copies.Apply(ctx, p, id, c.Args[1:], check, true)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"thread_id": id, "applied": done.Changes, "withheld": done.Withheld}, func() {
		for _, ch := range append(done.Changes, done.Withheld...) {
			showCopyChange(c.UI, ch)
		}
	})
}

func threadsDropCommand() *cli.Command {
	return &cli.Command{
		Name:     "drop",
		Args:     "THREAD",
		Usage:    "remove the working copy of a thread with its changes",
		Examples: []string{"rye threads drop triage-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenRun(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			dropped, err := copies.Drop(ctx, p, id)
			if err != nil {
				return err
			}
			return c.UI.Show(
				map[string]any{"thread_id": id, "copy": dropped},
				func() { c.UI.Out("dropped %s", dropped) },
			)
		},
	}
}
