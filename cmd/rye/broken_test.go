package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
)

// brokenCommands exist in the tests' rye-panics only: they fail in every way a
// command can, so that the scripts can look at what a user would see.
func brokenCommands() []*command {
	return []*command{
		{name: "panic", usage: "panic", args: "[TEXT…]", run: func(context.Context, *call) error { panic("the \x1b[31mimpossible\x1b[0m happened") }},
		{name: "fail", usage: "fail with a code", args: "CODE", flags: []cli.Flag{
			&cli.BoolFlag{Name: "findings", Usage: "list two findings"},
			&cli.BoolFlag{Name: "shown", Usage: "print a report first"},
		}, run: failWith},
		{name: "plain", usage: "fail without a code", run: func(context.Context, *call) error { return errors.New("opening door: it is locked") }},
		{name: "wait", usage: "wait for an interrupt", run: func(ctx context.Context, c *call) error {
			c.ui.Out("waiting")
			if err := c.ui.flush(); err != nil {
				return err
			}
			<-ctx.Done()
			return fmt.Errorf("waiting: %w", ctx.Err())
		}},
		{name: "echo", usage: "print what was understood", args: "[WORD…]", flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Aliases: []string{"n"}, Usage: "a `TEXT`", Value: "none"},
			&cli.StringSliceFlag{Name: "add", Usage: "add `TEXT`, as often as needed"},
			&cli.IntFlag{Name: "count", Usage: "a `NUMBER`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "a switch"},
		}, run: echo},
		{name: "pair", usage: "two subcommands", subs: []*command{
			{name: "left", usage: "the left one", args: "FROM [TO]", run: echo},
			{name: "right", usage: "the right one", run: echo},
		}},
	}
}

func failWith(_ context.Context, c *call) error {
	err := diag.New(diag.Code(c.args[0]), "checking .ai/tools/a\u202eb.py: something is wrong").
		WithDetail("signer", "ada <ada@example.test>").
		WithDetail("found", "sha256:bbbb").WithDetail("expected", "sha256:aaaa")
	if c.bool("findings") {
		a := diag.Errorf(diag.Unsigned, 0, 0, "it carries no signature")
		a.Fix = "rye sign b.py"
		err.Findings = diag.WithPath([]diag.Finding{a, diag.Warnf(diag.ParsingError, 3, 7, "a tab")}, "b.py")
	}
	if c.bool("shown") {
		c.ui.Out("the report")
		return shown(err, map[string]int{"checked": 2})
	}
	return err
}

func echo(_ context.Context, c *call) error {
	got := map[string]any{
		"args": c.args, "dash": c.dash, "name": c.str("name"), "add": c.strs("add"), "count": c.int("count"),
		"dry_run": c.bool("dry-run"), "offline": c.bool("offline"), "dir": c.dir,
	}
	return c.ui.Show(got, func() {
		c.ui.Out("args %q name %q add %q count %d dry-run %t", fmt.Sprint(c.args), c.str("name"), fmt.Sprint(c.strs("add")), c.int("count"), c.bool("dry-run"))
		c.ui.Note("a note")
		c.ui.Verbose("a detail")
	})
}
