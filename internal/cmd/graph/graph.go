package graph

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "graph",
		Group: "Items",
		Usage: "check, run and resume state graphs",
		Subs: []*cli.Command{graphRunCommand(), graphResumeCommand(), graphStepCommand(), graphForkCommand(), graphListCommand(), graphLogCommand(),
			graphValidateCommand(), graphShowCommand(), graphProcessCommand()},
	}
}

// graphOptions are the flags of the commands that walk a graph.
type graphOptions struct {
	params                           string
	locked, noSuspend, acceptChanged bool
	async, events                    bool
	node, state, at                  string
	set                              []string
}

func graphCodes() []diag.Code {
	return []diag.Code{diag.ToolNotFound, diag.ValidationFailed, diag.ExecutionFailed, diag.LimitExceeded, diag.PermissionDenied,
		diag.ApprovalRequired, diag.ThreadNotFound, diag.ThreadState, diag.GraphChanged, diag.TranscriptBroken}
}

func graphRunCommand() *cli.Command {
	var o graphOptions
	return &cli.Command{
		Name:  "run",
		Args:  "ID [NAME=VALUE…]",
		Usage: "run a state graph",
		Long: `Starts a run and prints its result. Each step is recorded in .ai/threads/RUN, and a
line for each node is printed to stderr. A run that needs an answer or a long wait
suspends and exits with 0: rye threads answer, or rye graph resume, continues it.
rye run tool ID is the same.

--async starts the run in a process of its own, which continues when the shell ends, and
prints its id, process and state: rye threads wait, tail, cancel and kill work on it.
--events prints each line of the log as JSON, and the result as the last line.`,
		Examples: []string{
			"rye graph run team/release tag=v1.2.0",
			"rye graph run team/release tag=v1.2.0 --no-suspend --json",
			"rye graph run team/release --node check --inject-state state.json",
			"rye graph run team/release tag=v1.2.0 --async",
		},
		Codes: graphCodes(),
		Flags: []cli.Flag{
			cli.String(&o.params, "params", "inputs as `JSON`, @FILE, or - for stdin"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
			cli.Bool(&o.noSuspend, "no-suspend", "fail instead of suspending"),
			cli.Bool(&o.async, "async", "start the run in a process of its own, and return"),
			cli.Bool(&o.events, "events", "print the lines of the log as JSON while it runs"),
			cli.String(&o.node, "node", "run only the node `NAME`"),
			cli.String(&o.state, "inject-state", "the state for --node: a `FILE` with a JSON object"),
		},
		Needs:     []cli.Need{{Flag: &o.state, With: &o.node}},
		Exclusive: [][]any{{&o.async, &o.events, &o.node}},
		Complete:  complete.Run,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runGraphRun(ctx, c, &o)
		},
	}
}

func runGraphRun(ctx context.Context, c *cli.Call, o *graphOptions) error {
	if o.events {
		c.UI.AsJSON = true
		c.UI.Lines = true
	}
	p, err := openGraphs(ctx, c, o)
	if err != nil {
		return err
	}
	ref, err := item.ParseRef(c.Args[0], item.Tool)
	if err != nil {
		return err
	}
	params, err := env.ReadParams(c, o.params)
	if err != nil {
		return err
	}
	opts := graphhost.Options{NoSuspend: o.noSuspend, Only: o.node}
	if o.state != "" {
		if opts.State, err = readObject(c, "--inject-state", "@"+o.state); err != nil {
			return err
		}
	}
	call := primary.Call{
		Ref:    ref,
		Held:   policy.Person(),
		Args:   c.Args[1:],
		Params: params,
	}
	if o.async {
		return watch.StartGraph(ctx, c, p, opts, call)
	}
	if o.events {
		opts.Event = watch.EventPrinter(c)
	}
	return watch.CallGraph(ctx, c, p, opts, call)
}

// graphProcessCommand is the process of a run that rye graph run --async started.
func graphProcessCommand() *cli.Command {
	return &cli.Command{
		Name:   "process",
		Hidden: true,
		Usage:  "run a graph that another process of rye describes on stdin",
		Run: func(ctx context.Context, c *cli.Call) error {
			return graphhost.RunDetached(ctx, env.Of(c), c.Stdin)
		},
	}
}

func openGraphs(ctx context.Context, c *cli.Call, o *graphOptions) (*project.Project, error) {
	p, err := watch.OpenLocked(ctx, c, &o.locked)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// readObject reads a JSON object as readParams does.
func readObject(c *cli.Call, flag, text string) (map[string]any, error) {
	m, err := env.ReadParams(c, text)
	if err != nil {
		return nil, diag.New(diag.CodeOf(err), "%s: %w", flag, err)
	}
	return m, nil
}
