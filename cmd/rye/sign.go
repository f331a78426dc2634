package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	rcli "github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/primary"
)

func signCommand() *command {
	return &command{
		name: "sign", group: "Items",
		usage: "validate items and sign them", args: "[ID|GLOB|PATH…]",
		long: `A target is a path, a ref such as tool:demo/hello, an id, or a glob over ids;
'*' is every item of the project. An item that does not fit its schema, or that
holds hidden characters, is refused and left as it is. Signing twice changes
nothing. --check changes nothing at all and fails when something would change.
--staged signs the staged items in git's index, so that the next commit holds them
signed; a file of the work tree is written only when it equals what is staged.
Where rye.lock exists, the entries of the tools that were signed follow.

--upgrade is for items of the Python original: it signs anew those whose old
signature is good by its own, weaker rules, tells what that never covered, and
leaves all others alone. Old keys come from .ai/trusted_keys of your home and
from --legacy-key, never from the project by themselves.`,
		examples: []string{
			"rye sign tool:demo/hello",
			"rye sign '*'",
			"rye sign .ai/tools/demo --check  # in CI",
			"rye sign --staged                # what the commit hook does",
			"rye sign '*' --upgrade --legacy-key old/public_key.pem",
		},
		codes: []diag.Code{diag.Drift, diag.ValidationFailed, diag.HiddenChars, diag.ItemNotFound, diag.AuthRequired},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "staged", Usage: "sign the staged items in git's index"},
			&cli.BoolFlag{Name: "check", Usage: "change nothing; fail when something is not signed by the key"},
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`: a fingerprint, an owner or a file"},
			&cli.BoolFlag{Name: "upgrade", Usage: "sign only what has a good signature of the Python original"},
			&cli.StringSliceFlag{Name: "legacy-key", Usage: "check old signatures with the public key in this `FILE` too (.pem or .toml)"},
		},
		complete: completeItems(),
		run:      runSign,
	}
}

func runSign(ctx context.Context, c *call) error {
	if c.bool("staged") {
		if c.bool("upgrade") || len(c.strs("legacy-key")) > 0 {
			return diag.New(diag.Usage, "signing: --upgrade works on files, not on git's index").WithHint("rye sign --upgrade '*', then stage them")
		}
		return runSignStaged(ctx, c)
	}
	if len(c.args) == 0 {
		return diag.New(diag.Usage, "reading arguments: %q needs ID|GLOB|PATH…", "rye sign").WithHint("rye sign '*' signs every item of the project")
	}
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	old, err := c.legacyKeys(h)
	if err != nil {
		return err
	}
	signer, err := c.signer(ctx, h)
	if err != nil {
		return err
	}
	targets := make([]string, len(c.args))
	for i, word := range c.args {
		targets[i] = c.shown(h, word)
	}
	reports, err := h.primary.Sign(ctx, primary.SignCall{
		Targets: targets, Dir: c.dir, Signer: signer, Check: c.bool("check"), Upgrade: c.bool("upgrade"), LegacyKeys: old,
	})
	if err != nil {
		if len(c.args) == 1 {
			err = noFile(err, c.arg(0))
		}
		return err
	}
	for _, note := range h.resolver.Notes() {
		c.ui.Warn("%s", note)
	}
	if err := c.refreshLock(ctx, h, reports); err != nil {
		return err
	}
	return c.signed(reports)
}

// signed shows the reports; a refused file, or a stale one under --check,
// decides the exit status.
func (c *call) signed(reports []primary.SignReport) error {
	counts := map[primary.SignStatus]int{}
	var fs []diag.Finding
	for _, r := range reports {
		counts[r.Status]++
		rcli.FillFixes(r.Findings)
		fs = append(fs, r.Findings...)
		if r.Status == primary.Stale {
			f := diag.Errorf(diag.Drift, 0, 0, "%s is not signed as it stands", r.Path)
			f.Fix = "rye sign " + r.Path
			if c.bool("upgrade") {
				f.Message, f.Fix = r.Path+" would be upgraded", "rye sign --upgrade REF"
			}
			fs = append(fs, f)
		}
	}
	data := map[string]any{"files": reports, "signed": counts[primary.Signed], "unchanged": counts[primary.Unchanged],
		"stale": counts[primary.Stale], "refused": counts[primary.Refused]}
	if c.bool("upgrade") {
		data["upgraded"], data["skipped"] = counts[primary.Upgraded], counts[primary.Skipped]
	}
	err := diag.FromFindings("signing", fs)
	human := func() {
		for _, r := range reports {
			c.ui.signLine(r)
		}
		c.ui.Note("%s", signSummary(counts, c.bool("upgrade"), c.bool("check")))
	}
	return c.ui.report(err, data, fs, human)
}

func signSummary(n map[primary.SignStatus]int, upgrade, check bool) string {
	if !upgrade {
		return fmt.Sprintf("%d signed, %d unchanged, %d refused", n[primary.Signed], n[primary.Unchanged], n[primary.Refused])
	}
	done := fmt.Sprintf("%d upgraded", n[primary.Upgraded])
	if check {
		done = fmt.Sprintf("%d would be upgraded", n[primary.Stale])
	}
	return fmt.Sprintf("%s, %d unchanged, %d skipped, %d refused", done, n[primary.Unchanged], n[primary.Skipped], n[primary.Refused])
}

func (u *ui) signLine(r primary.SignReport) {
	style := map[primary.SignStatus]string{primary.Signed: green, primary.Upgraded: green, primary.Refused: red, primary.Stale: yellow, primary.Unchanged: dim, primary.Skipped: yellow}[r.Status]
	name := r.Ref
	if name == "" {
		name = "(no item)"
	}
	if r.Support {
		name += " (support file)"
	}
	u.Out("%s  %s  %s", u.Style(style, fmt.Sprintf("%-9s", r.Status)), name, u.Style(dim, r.Path))
	for _, f := range r.Findings {
		u.finding(f)
	}
}
