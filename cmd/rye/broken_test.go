package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

// brokenCommands exist in the tests' rye-panics only: they fail in every way a
// command can, so that the scripts can look at what a user would see.
func brokenCommands() []*cli.Command {
	return []*cli.Command{
		{Name: "panic", Usage: "panic", Args: "[TEXT…]", Run: func(context.Context, *cli.Call) error { panic("the \x1b[31mimpossible\x1b[0m happened") }},
		{Name: "fail", Usage: "fail with a code", Args: "CODE", Flags: []cli.Flag{
			&cli.BoolFlag{Name: "findings", Usage: "list two findings"},
			&cli.BoolFlag{Name: "shown", Usage: "print a report first"},
		}, Run: failWith},
		{Name: "plain", Usage: "fail without a code", Run: func(context.Context, *cli.Call) error { return errors.New("opening door: it is locked") }},
		{Name: "wait", Usage: "wait for an interrupt", Run: func(ctx context.Context, c *cli.Call) error {
			c.UI.Out("waiting")
			if err := c.UI.Flush(); err != nil {
				return err
			}
			<-ctx.Done()
			return fmt.Errorf("waiting: %w", ctx.Err())
		}},
		{Name: "echo", Usage: "print what was understood", Args: "[WORD…]", Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Aliases: []string{"n"}, Usage: "a `TEXT`", Value: "none"},
			&cli.StringSliceFlag{Name: "add", Usage: "add `TEXT`, as often as needed"},
			&cli.IntFlag{Name: "count", Usage: "a `NUMBER`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "a switch"},
		}, Run: echo},
		{Name: "pair", Usage: "two subcommands", Subs: []*cli.Command{
			{Name: "left", Usage: "the left one", Args: "FROM [TO]", Run: echo},
			{Name: "right", Usage: "the right one", Run: echo},
		}},
	}
}

func failWith(_ context.Context, c *cli.Call) error {
	err := diag.New(diag.Code(c.Args[0]), "checking .ai/tools/a\u202eb.py: something is wrong").
		WithDetail("signer", "ada <ada@example.test>").
		WithDetail("found", "sha256:bbbb").WithDetail("expected", "sha256:aaaa")
	if c.Bool("findings") {
		a := diag.Errorf(diag.Unsigned, 0, 0, "it carries no signature")
		a.Fix = "rye sign b.py"
		err.Findings = diag.WithPath([]diag.Finding{a, diag.Warnf(diag.ParsingError, 3, 7, "a tab")}, "b.py")
	}
	if c.Bool("shown") {
		c.UI.Out("the report")
		return cli.Shown(err, map[string]int{"checked": 2})
	}
	return err
}

func echo(_ context.Context, c *cli.Call) error {
	got := map[string]any{
		"args": c.Args, "dash": c.Dash, "name": c.Str("name"), "add": c.Strs("add"), "count": c.Int("count"),
		"dry_run": c.Bool("dry-run"), "offline": c.Offline, "dir": c.Base,
	}
	return c.UI.Show(got, func() {
		c.UI.Out("args %q name %q add %q count %d dry-run %t", fmt.Sprint(c.Args), c.Str("name"), fmt.Sprint(c.Strs("add")), c.Int("count"), c.Bool("dry-run"))
		c.UI.Note("a note")
		c.UI.Verbose("a detail")
	})
}
