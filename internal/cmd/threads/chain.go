package threads

import (
	"context"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/threadhost"
	"github.com/ryeos/rye/threads/tree"
)

func threadsChainCommand() *cli.Command {
	return &cli.Command{
		Name:  "chain",
		Args:  "THREAD",
		Usage: "list the threads that continue each other",
		Long: `When the window of its model is full, a thread ends in the state continued, and a new
thread continues with a summary and the newest turns. The threads of a chain share the
account of the first; turns and costs are totals of the chain.`,
		Examples: []string{"rye threads chain triage-01jd"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenRun(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			links, err := control.Chain(p, id)
			if err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"chain": links}, func() {
				t := cli.NewTable("chain of threads")
				for _, l := range links {
					t.Add(
						watch.BareRef(l.Directive),
						l.State,
						fmt.Sprint(l.Turns),
						activity.Money(l.Cost.Spend),
						l.ID,
					)
				}
				c.UI.Table(t)
			})
		},
	}
}

func threadsHandoffCommand() *cli.Command {
	var o watch.ResumeOptions
	return &cli.Command{
		Name:  "handoff",
		Args:  "THREAD",
		Usage: "continue a thread in a new thread, with a summary",
		Long: `Ends a thread in the state continued, and starts the thread that continues: with a summary,
the newest turns, and the rest of the limits. It is what rye does by itself when the
window of the model is full. The process that runs a thread does it before its next turn,
and this command prints the id of the new thread.`,
		Examples: []string{"rye threads handoff triage-01jd", `rye threads handoff triage-01jd --message "Only the tests are left."`},
		Codes: []diag.Code{diag.ThreadNotFound, diag.ThreadState, diag.TranscriptBroken, diag.GraphChanged,
			diag.LimitExceeded, diag.BudgetExceeded, diag.ProviderError},
		Flags: []cli.Flag{
			cli.String(&o.Message, "message", "a `TEXT` that the model reads after the directive"),
			cli.Bool(&o.Events, "events", "print the events of the threads as JSON lines; -v adds the events of the loop"),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenLast(ctx, c, project.Strict)
			if err != nil {
				return err
			}
			if graph.Owner(ctx, p.Spaces.ProjectDir, id) >= 0 {
				next, err := tree.HandOff(ctx, p, id, o.Message, "person")
				if err != nil {
					return err
				}
				return c.UI.Show(
					map[string]any{"thread_id": next, "continues": id},
					func() { c.UI.Out("%s", next) },
				)
			}
			opts := &threadhost.Options{
				Held:    policy.Person(),
				Message: o.Message,
				Ask:     ask.AboutRisk(c),
				Decide:  ask.AboutCall(c),
				Answer:  ask.AboutThread(c),
			}
			show := watch.NewWatcher(c, p, o.Events)
			opts.Observe = show.Line
			opts.Started = show.Started
			r, err := threadhost.HandOff(ctx, p, id, opts)
			return show.End(r, err)
		},
	}
}
