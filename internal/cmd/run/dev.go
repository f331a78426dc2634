package run

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// checkDevTerminal returns an error unless a person starts the command: a script or an
// agent must not run what no key signed.
func checkDevTerminal(c *cli.Call) error {
	if env.Of(c).InCI() ||
		!c.Isatty(c.Stdin) ||
		!c.Isatty(c.Stderr) {
		return diag.New(diag.Usage, "running with --dev: it runs at a terminal only, not in CI, and stdin and stderr must be that terminal")
	}
	return nil
}

// devOf returns how the user runs a tool that they are editing.
func devOf(c *cli.Call, h *project.Project) *primary.Dev {
	return &primary.Dev{Accept: h.AcceptDev, Starts: func(it *resolve.Item) {
		state := "is not signed"
		if it.Verdict.Code == diag.HashMismatch {
			state = "does not match its signature"
		}
		c.UI.PrintErr("dev: %s %s; strict sandbox, no network", it.Ref, state)
	}}
}
