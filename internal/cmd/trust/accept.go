package trust

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/trust"
)

func trustAcceptCommand() *cli.Command {
	var yes, forget bool
	return &cli.Command{
		Name:  "accept",
		Usage: "trust the project's own trust documents as a set",
		Long: `Shows every document below .ai/trust, its scope and the changes since you accepted
the set, and asks. Your answer is recorded for this project and your account with the
digest of the whole set. After any change none of the documents is trusted until you
accept again. Endorsements by your anchors need no acceptance.`,
		Examples: []string{"rye trust accept", "rye trust accept --yes", "rye trust accept --forget"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.ValidationFailed},
		Flags: []cli.Flag{
			cli.Bool(&yes, "yes", "do not ask").Alias("y"),
			cli.Bool(&forget, "forget", "revoke the acceptance"),
		},
		Exclusive: [][]any{{&yes, &forget}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTrustAccept(ctx, c, yes, forget)
		},
	}
}

// setChange is one change of the set since it was accepted.
type setChange struct {
	Change string `json:"change"` // added, removed, changed, kept
	trust.SetDocument
}

func runTrustAccept(ctx context.Context, c *cli.Call, yes, forget bool) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if _, err := h.ProjectTrust(); err != nil {
		return err
	}
	if forget {
		return forgetSet(c, h)
	}
	set := h.Trust.ProjectSet()
	changes := setChanges(set)
	data := map[string]any{"set": set, "changes": changes}
	if set.State == trust.SetAccepted {
		return c.UI.Show(data, func() {
			c.UI.Out("accepted already, on %s; nothing changed", set.At.Format(time.DateOnly))
		})
	}
	showSetChanges(c.UI, set, changes)
	if len(set.Documents) > 0 && !yes {
		if err := ask.Confirm(c, "Accept these documents as a whole?"); err != nil {
			return err
		}
	}
	file, err := trust.Accept(h.TrustParams, set)
	if err != nil {
		return err
	}
	data["file"] = file
	return c.UI.Show(data, func() {
		c.UI.Out("accepted %s", cli.Plural(len(set.Documents), "document"))
	})
}

func forgetSet(c *cli.Call, h *project.Project) error {
	was, err := trust.Forget(h.TrustParams)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"forgotten": was}, func() {
		if !was {
			c.UI.Out("the project's trust set was not accepted")
			return
		}
		c.UI.Out("the project's trust set is no longer accepted")
	})
}

// setChanges compares the set with the one accepted last.
func setChanges(set trust.ProjectSet) []setChange {
	before := map[string]trust.SetDocument{}
	for _, d := range set.Before {
		before[d.Name] = d
	}
	var out []setChange
	for _, d := range set.Documents {
		was, known := before[d.Name]
		delete(before, d.Name)
		switch {
		case !known:
			out = append(out, setChange{"added", d})
		case was.Digest != d.Digest:
			out = append(out, setChange{"changed", d})
		default:
			out = append(out, setChange{"kept", d})
		}
	}
	for _, d := range set.Before {
		if _, gone := before[d.Name]; gone {
			out = append(out, setChange{"removed", d})
		}
	}
	return out
}

func showSetChanges(u *cli.UI, set trust.ProjectSet, changes []setChange) {
	for _, path := range set.Broken {
		u.Warn("%s has no valid signature", path)
	}
	if len(set.Before) > 0 {
		u.Out("The project's trust set changed since you accepted it on %s.", set.At.Format(time.DateOnly))
	}
	for _, x := range changes {
		u.Out(
			"%s %s  %s",
			map[string]string{
				"added":   "+",
				"removed": "-",
				"changed": "~",
				"kept":    " ",
			}[x.Change],
			x.Kind,
			x.Name,
		)
		if x.Owner != "" {
			u.Out("    owner %s", x.Owner)
		}
		if x.Scope != "" {
			u.Out("    %s, until %s", x.Scope, x.NotAfter.Format(time.DateOnly))
		}
	}
}
