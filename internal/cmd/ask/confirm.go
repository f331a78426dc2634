package ask

import (
	"context"
	"strconv"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
)

// SSHKey shows keys and asks for one. It returns -1 for an answer that is not one
// of their numbers.
func SSHKey(c *cli.Call, keys []sign.SSHKey) (int, error) {
	for i, k := range keys {
		c.UI.Note("%d  %s  %s", i+1, sign.SSHFingerprint(k.Public), k.Comment)
	}
	answer, err := c.Ask("Which key? [1-" + strconv.Itoa(len(keys)) + "] ")
	if err != nil {
		return -1, err
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(keys) {
		return -1, nil //nolint:nilerr // the caller reports that nothing was chosen
	}
	return n - 1, nil
}

// ConfirmChanges returns a function that shows what bundles bring and asks the user
// to accept it. Without a terminal only --yes accepts.
func ConfirmChanges(c *cli.Call, x *deps.Packages, yes bool, doing string) packages.Approve {
	return func(wider []packages.Change) error {
		switch {
		case yes:
			return nil
		case c.UI.AsJSON || !c.Isatty(c.Stdin):
			return packages.NotApproved(doing, wider)
		}
		x.Close() // removes the progress line
		for _, w := range wider {
			view.Change(c.UI, w)
		}
		yes, err := c.Confirm("Accept these changes?")
		if err != nil || yes {
			return err
		}
		return packages.NotApproved(doing, wider)
	}
}

// AboutStaged returns how a user is asked about a staged text that differs from its
// file, nil without a terminal that shows it.
func AboutStaged(c *cli.Call) func(context.Context, string, string) (bool, error) {
	if !c.Isatty(c.Stdin) ||
		!c.Isatty(c.Stdout) ||
		!c.Isatty(c.Stderr) ||
		c.UI.AsJSON ||
		c.Getenv("GIT_TERMINAL_PROMPT") == "0" {
		return nil
	}
	return func(ctx context.Context, text, question string) (bool, error) {
		c.UI.Text(text)
		return c.ConfirmWithin(ctx, question)
	}
}

// Confirm asks at the terminal.
func Confirm(c *cli.Call, question string) error {
	if c.UI.AsJSON {
		return diag.New(diag.Usage, "accepting: --json does not show the documents before it asks").WithReason("accept_json")
	}
	if !c.Isatty(c.Stdin) {
		return diag.New(diag.Usage, "accepting: a person confirms it, and this process has no terminal").WithReason("accept_headless")
	}
	yes, err := c.Confirm(question)
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.ApprovalDenied, "accepting: cancelled; nothing changed")
	}
	return nil
}
