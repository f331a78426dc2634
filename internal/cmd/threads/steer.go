package threads

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/tree"
)

func threadsSuspendCommand() *cli.Command {
	var reason string
	return &cli.Command{
		Name:  "suspend",
		Args:  "THREAD",
		Usage: "suspend a thread before its next turn",
		Long: `The process of the thread ends after the calls in flight. rye threads resume continues it:
its money stays reserved, and its time does not run.`,
		Examples: []string{"rye threads suspend triage-01jd", `rye threads suspend triage-01jd --reason "The service is down."`},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ThreadState},
		Flags:    []cli.Flag{cli.String(&reason, "reason", "a `TEXT` for the log of the thread")},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, id, err := watch.OpenLast(ctx, c, project.Lenient)
			if err != nil {
				return err
			}
			state, err := control.Suspend(ctx, p, id, reason, "person")
			if err != nil {
				return err
			}
			if state == threads.Running {
				c.UI.Note("the thread is suspended after the calls in flight")
			}
			return c.UI.Show(
				map[string]any{"thread_id": id, "state": state},
				func() { c.UI.Out("%s %s", id, state) },
			)
		},
	}
}

// hitOptions are the flags of rye threads search.
type hitOptions struct {
	regex, chain bool
	events       []string
	most         int
}

func threadsSearchCommand() *cli.Command {
	o := hitOptions{most: 50}
	return &cli.Command{
		Name:  "search",
		Args:  "THREAD TEXT",
		Usage: "find a text in the logs of a thread and those below it",
		Long: `Reads the log of the thread, of the threads of its chain, and of all threads below it.
Upper and lower case are equal.`,
		Examples: []string{"rye threads search triage-01jd 'build directory'", `rye threads search triage-01jd 'label":"(bug|question)' --regex --event tool_call`},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.ValidationFailed},
		Flags: []cli.Flag{
			cli.Bool(&o.regex, "regex", "TEXT is an RE2 expression"),
			cli.Bool(&o.chain, "chain", "read the chain only, not the threads below it"),
			cli.Strings(&o.events, "event", "only lines of this `EVENT`; can be repeated"),
			cli.Int(&o.most, "max", "the most `HITS`"),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsSearch(ctx, c, &o)
		},
	}
}

func runThreadsSearch(ctx context.Context, c *cli.Call, o *hitOptions) error {
	p, id, err := watch.OpenRun(ctx, c, project.Lenient)
	if err != nil {
		return err
	}
	hits, more, err := tree.SearchThreads(ctx, p, id, o.chain, threads.Query{
		Text:   c.Args[1],
		Regex:  o.regex,
		Events: o.events,
		Most:   o.most,
	})
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"hits": hits, "truncated": more}, func() {
		for _, h := range hits {
			c.UI.Out("%s:%d %s %s", h.Thread, h.Seq, h.Event, h.Snippet)
		}
		switch {
		case len(hits) == 0:
			c.UI.Out("no hits")
		case more:
			c.UI.Note("there are more hits: --max %d", 10*o.most)
		}
	})
}
