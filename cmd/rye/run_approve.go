package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
)

// askAboutThread returns the function that asks at the terminal what a suspended thread asks,
// nil without one.
func askAboutThread(c *cli.Call) func(ctx context.Context, question string) (string, error) {
	if askAboutRisk(c) == nil {
		return nil
	}
	return func(ctx context.Context, question string) (string, error) {
		return c.AskWithin(ctx, question+"\nyes continues the thread, no ends it, anything else leaves it suspended [later] ")
	}
}

// askAboutRisk returns the function that asks about a call at the terminal, nil without
// one. Only the word once is a yes: an empty line, or an answer to another question,
// refuses.
func askAboutRisk(c *cli.Call) exec.Ask {
	if c.UI.AsJSON || envOf(c).InCI() || !c.Isatty(c.Stdin) || !c.Isatty(c.Stderr) {
		return nil
	}
	return func(ctx context.Context, question string) (bool, error) {
		fmt.Fprintln(c.Stderr, hidden.Visible(question)) // a question is not for -q to leave out
		answer, err := c.AskWithin(ctx, "once runs it this time, anything else refuses [deny] ")
		return strings.EqualFold(answer, "once"), err
	}
}
