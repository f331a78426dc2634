package run

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/tree"
)

// spawnOptions are the flags of rye spawn.
type spawnOptions struct {
	params string
	locked bool
	follow bool
	thread watch.ThreadOptions
}

func SpawnCommand() *cli.Command {
	var o spawnOptions
	return &cli.Command{
		Name:  "spawn",
		Group: "Items",
		Args:  "KIND|REF [ID] [NAME=VALUE…]",
		Usage: "start a thread in a process of its own",
		Long: `Checks the directive, its inputs, limits and model, starts a process with a session of
its own, and prints the id of the thread, its process and its state. The thread continues
when this command, the shell and the terminal have ended: rye threads wait, tail,
result, cancel and kill work on it. No person is asked: the allowance decides what a
call that needs an approval does.`,
		Examples: []string{"rye spawn directive team/triage file=issue.md", "rye spawn directive team/triage file=issue.md --limit spend=0.20 --json"},
		Codes: []diag.Code{diag.ItemNotFound, diag.KeyUnknown, diag.ValidationFailed, diag.UnknownParameter, diag.AuthRequired, diag.BudgetExceeded,
			diag.ConfigError, diag.ExecutionFailed, diag.Timeout},
		Flags: append([]cli.Flag{
			cli.String(&o.params, "params", "inputs as `JSON`, @FILE, or - for stdin"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
			cli.Bool(&o.follow, "follow", "show the thread's calls and answers until it ends or is suspended").Alias("f"),
			cli.Strings(&o.thread.Limits, "limit", watch.LimitUsage),
			cli.String(&o.thread.Model, "model", "the model, by its exact `ID`"),
			cli.String(&o.thread.Provider, "provider", "the provider item, by its `ID`"),
			cli.String(&o.thread.Message, "message", "a `TEXT` that the model reads after the directive"),
			cli.Strings(&o.thread.Attach, "attach", watch.AttachUsage),
		}, o.thread.CopyFlags()...),
		Complete: complete.Run,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSpawn(ctx, c, &o)
		},
	}
}

func runSpawn(ctx context.Context, c *cli.Call, o *spawnOptions) error {
	args, err := promptArgs(ctx, c, o.params == "-")
	if err != nil {
		return err
	}
	p, err := watch.OpenLocked(ctx, c, &o.locked)
	if err != nil {
		return err
	}
	ref, rest, err := project.RefArgs(ctx, p, args)
	if err != nil {
		return err
	}
	if ref.Kind != item.Directive {
		return diag.New(diag.Usage, "starting %s: a thread follows a directive; rye graph run --async starts a graph", ref)
	}
	params, err := env.ReadParams(c, o.params)
	if err != nil {
		return err
	}
	opts := o.thread.Options(c, primary.Call{
		Ref:    ref,
		Held:   policy.Person(),
		Args:   rest,
		Params: params,
	})
	if opts.Attach, err = o.thread.Attachments(c); err != nil {
		return err
	}
	s, err := tree.Spawn(ctx, p, opts)
	if err != nil {
		return err
	}
	err = c.UI.Show(s, func() { showSpawned(c, s) })
	if err != nil || !o.follow || c.UI.AsJSON {
		return err
	}
	return watch.TailRun(ctx, c, p, s.ThreadID, true)
}

// showSpawned prints what runs: for a person by its number, and for a program that reads the
// line its id, as before threads had numbers.
func showSpawned(c *cli.Call, s *tree.Spawned) {
	if c.Isatty != nil &&
		c.Isatty(c.Stdout) &&
		c.UI.Number(s.ThreadID) > 0 {
		c.UI.Out("%s  process %d  %s", cli.RunLabel(c, s.ThreadID), s.PID, s.State)
		return
	}
	c.UI.Out("%s %d %s", s.ThreadID, s.PID, s.State)
}
