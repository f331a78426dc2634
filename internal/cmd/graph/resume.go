package graph

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/control"
)

// continueFlags are the flags of the commands that continue from a state.
func (o *graphOptions) continueFlags() []cli.Flag {
	return []cli.Flag{
		cli.Strings(&o.set, "set", "set a value of the state: `KEY=VALUE`, or KEY:=JSON"),
		cli.Bool(&o.noSuspend, "no-suspend", "fail instead of suspending"),
		cli.Bool(&o.locked, "locked", env.LockedUsage),
	}
}

func graphResumeCommand() *cli.Command {
	var o graphOptions
	return &cli.Command{
		Name:  "resume",
		Args:  "RUN",
		Usage: "continue a suspended or stopped run",
		Long: `Continues a run at the nodes that were in flight; a finished node is not repeated. The
log is verified first. If the graph or an item that it names has changed since the
run started, the run continues only with --accept-changed.`,
		Examples: []string{"rye graph resume release-01jd", "rye graph resume release-01jd --set go=true"},
		Codes:    graphCodes(),
		Flags: append([]cli.Flag{
			cli.Bool(&o.acceptChanged, "accept-changed", "continue although the graph or its items changed"),
		}, o.continueFlags()...),
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runGraphResume(ctx, c, &o, false)
		},
	}
}

func graphStepCommand() *cli.Command {
	var o graphOptions
	return &cli.Command{
		Name:     "step",
		Args:     "RUN",
		Usage:    "commit one node of a run and suspend it again",
		Examples: []string{"rye graph step release-01jd"},
		Codes:    graphCodes(),
		Flags: []cli.Flag{
			cli.Bool(&o.acceptChanged, "accept-changed", "continue although the graph or its items changed"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
		},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runGraphResume(ctx, c, &o, true)
		},
	}
}

func runGraphResume(ctx context.Context, c *cli.Call, o *graphOptions, step bool) error {
	p, err := openGraphs(ctx, c, o)
	if err != nil {
		return err
	}
	id, err := watch.FindRun(ctx, c, p, c.Args[0])
	if err != nil {
		return err
	}
	opts := graphhost.Options{AcceptChanged: o.acceptChanged, NoSuspend: o.noSuspend, OneStep: step}
	if opts.Set, err = readSet(o.set); err != nil {
		return err
	}
	return watch.ResumeRun(ctx, c, p, id, opts)
}

// readSet reads the values of --set.
func readSet(set []string) (map[string]any, error) {
	if len(set) == 0 {
		return nil, nil
	}
	out := map[string]any{}
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, diag.New(diag.Usage, "reading --set %s: it must be KEY=VALUE", s)
		}
		name, isJSON := strings.CutSuffix(key, ":")
		v, fs := jsonx.ParseMessage([]byte(value))
		switch {
		case len(fs) == 0:
			out[name] = v
		case isJSON:
			return nil, diag.New(diag.ParsingError, "reading --set %s: %s", s, fs[0].Message)
		default:
			out[name] = value
		}
	}
	return out, nil
}

func graphForkCommand() *cli.Command {
	var o graphOptions
	return &cli.Command{
		Name:  "fork",
		Args:  "RUN",
		Usage: "start a new run from a step of an earlier one",
		Long: `Starts a new run with the state that RUN had after the line SEQ of its log, or after
the node NODE was committed (the COUNT-th time). The first line of the new log names
the line. The earlier run does not change.`,
		Examples: []string{"rye graph fork release-01jd --at check --set go=false", "rye graph fork release-01jd --at 12"},
		Codes:    graphCodes(),
		Flags: append([]cli.Flag{
			cli.String(&o.at, "at", "the line or node to start after: `SEQ|NODE[:COUNT]`"),
		}, o.continueFlags()...),
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runGraphFork(ctx, c, &o)
		},
	}
}

func runGraphFork(ctx context.Context, c *cli.Call, o *graphOptions) error {
	p, err := openGraphs(ctx, c, o)
	if err != nil {
		return err
	}
	id, err := watch.FindRun(ctx, c, p, c.Args[0])
	if err != nil {
		return err
	}
	if o.at == "" {
		return diag.New(diag.Usage, "forking %s: --at is missing", id).
			WithReason("fork_at").
			WithDetail("id", id)
	}
	set, err := readSet(o.set)
	if err != nil {
		return err
	}
	call, err := control.ForkCall(ctx, p, id)
	if err != nil {
		return err
	}
	return watch.CallGraph(
		ctx,
		c,
		p,
		graphhost.Options{Fork: &graph.Fork{Run: id, At: o.at, Set: set}, NoSuspend: o.noSuspend},
		call,
	)
}
