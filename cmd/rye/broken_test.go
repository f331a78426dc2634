package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// brokenOptions are the flags of all brokenCommands.
type brokenOptions struct {
	findings, shown, dryRun bool
	name                    string
	add                     []string
	count                   int
}

// brokenCommands exist in the tests' rye-panics only: they fail in every way a
// command can, so that the scripts can look at what a user would see.
func brokenCommands() []*cli.Command {
	var o brokenOptions
	o.name = "none"
	return []*cli.Command{
		{Name: "panic", Usage: "panic", Args: "[TEXT…]", Run: func(context.Context, *cli.Call) error { panic("the \x1b[31mimpossible\x1b[0m happened") }},
		{Name: "fail", Usage: "fail with a code", Args: "CODE", Flags: []cli.Flag{
			cli.Bool(&o.findings, "findings", "list two findings"),
			cli.Bool(&o.shown, "shown", "print a report first"),
		}, Run: func(_ context.Context, c *cli.Call) error { return failWith(c, &o) }},
		{Name: "plain", Usage: "fail without a code", Run: func(context.Context, *cli.Call) error { return errors.New("opening door: it is locked") }},
		{Name: "wait", Usage: "make a file and wait for an interrupt", Args: "FILE", Run: func(ctx context.Context, c *cli.Call) error {
			if err := os.WriteFile(c.Args[0], nil, 0o644); err != nil {
				return err
			}
			<-ctx.Done()
			return fmt.Errorf("waiting: %w", ctx.Err())
		}},
		{Name: "echo", Usage: "print what was understood", Args: "[WORD…]", Flags: []cli.Flag{
			cli.String(&o.name, "name", "a `TEXT`").Alias("n"),
			cli.Strings(&o.add, "add", "add `TEXT`, as often as needed"),
			cli.Int(&o.count, "count", "a `NUMBER`"),
			cli.Bool(&o.dryRun, "dry-run", "a switch"),
		}, Run: func(_ context.Context, c *cli.Call) error { return echo(c, &o) }},
		{Name: "pair", Usage: "two subcommands", Subs: []*cli.Command{
			{Name: "left", Usage: "the left one", Args: "FROM [TO]", Run: func(_ context.Context, c *cli.Call) error { return echo(c, &o) }},
			{Name: "right", Usage: "the right one", Run: func(_ context.Context, c *cli.Call) error { return echo(c, &o) }},
		}},
	}
}

func failWith(c *cli.Call, o *brokenOptions) error {
	err := diag.New(diag.Code(c.Args[0]), "checking .ai/tools/a\u202eb.py: something is wrong").
		WithDetail("signer", "ada <ada@example.test>").
		WithDetail("found", "sha256:bbbb").WithDetail("expected", "sha256:aaaa")
	if o.findings {
		a := diag.Errorf(diag.Unsigned, 0, 0, "it carries no signature")
		a.Fix = "rye sign b.py"
		err.Findings = diag.WithPath([]diag.Finding{a, diag.Warnf(diag.ParsingError, 3, 7, "a tab")}, "b.py")
	}
	if o.shown {
		c.UI.Out("the report")
		return cli.Shown(err, map[string]int{"checked": 2})
	}
	return err
}

func echo(c *cli.Call, o *brokenOptions) error {
	got := map[string]any{
		"args": c.Args, "dash": c.Dash, "name": o.name, "add": o.add, "count": o.count,
		"dry_run": o.dryRun, "offline": c.Offline, "dir": c.Base,
	}
	return c.UI.Show(got, func() {
		c.UI.Out("args %q name %q add %q count %d dry-run %t", fmt.Sprint(c.Args), o.name, fmt.Sprint(o.add), o.count, o.dryRun)
		c.UI.Note("a note")
		c.UI.Verbose("a detail")
	})
}
