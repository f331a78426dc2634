package main

import (
	"context"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/primary"
)

func signCommand() *cli.Command {
	return &cli.Command{
		Name: "sign", Group: "Items",
		Usage: "validate items and sign them", Args: "[ID|GLOB|PATH…]",
		Long: `A target is a path, a ref such as tool:demo/hello, an id, or a glob over ids;
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
		Examples: []string{
			"rye sign tool:demo/hello",
			"rye sign '*'",
			"rye sign .ai/tools/demo --check  # in CI",
			"rye sign --staged                # what the commit hook does",
			"rye sign '*' --upgrade --legacy-key old/public_key.pem",
		},
		Codes: []diag.Code{diag.Drift, diag.ValidationFailed, diag.HiddenChars, diag.ItemNotFound, diag.AuthRequired},
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "staged", Usage: "sign the staged items in git's index"},
			&cli.BoolFlag{Name: "check", Usage: "change nothing; fail when something is not signed by the key"},
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`: a fingerprint, an owner or a file"},
			&cli.BoolFlag{Name: "upgrade", Usage: "sign only what has a good signature of the Python original"},
			&cli.StringSliceFlag{Name: "legacy-key", Usage: "check old signatures with the public key in this `FILE` too (.pem or .toml)"},
		},
		Complete: completeItems(),
		Run:      runSign,
	}
}

func runSign(ctx context.Context, c *cli.Call) error {
	if c.Bool("staged") {
		if c.Bool("upgrade") || len(c.Strs("legacy-key")) > 0 {
			return diag.New(diag.Usage, "signing: --upgrade works on files, not on git's index").WithHint("rye sign --upgrade '*', then stage them")
		}
		return runSignStaged(ctx, c)
	}
	if len(c.Strs("legacy-key")) > 0 && !c.Bool("upgrade") {
		return diag.New(diag.Usage, "signing: --legacy-key needs --upgrade")
	}
	if len(c.Args) == 0 {
		return diag.New(diag.Usage, "reading arguments: %q needs ID|GLOB|PATH…", "rye sign").WithHint("rye sign '*' signs every item of the project")
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	old, err := h.LegacyKeys(c.Strs("legacy-key"))
	if err != nil {
		return err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	targets := make([]string, len(c.Args))
	for i, word := range c.Args {
		targets[i] = h.Shown(word)
	}
	reports, err := h.Verbs.Sign(ctx, primary.SignCall{
		Targets: targets, Dir: c.Base, Signer: signer, Check: c.Bool("check"), Upgrade: c.Bool("upgrade"), LegacyKeys: old,
	})
	if err != nil {
		if len(c.Args) == 1 {
			err = project.NoFile(err, c.Arg(0))
		}
		return err
	}
	for _, note := range h.Resolver.Notes() {
		c.UI.Warn("%s", note)
	}
	if !c.Bool("check") {
		if err := h.RefreshLock(ctx, reports); err != nil {
			return err
		}
	}
	return signed(c, reports)
}

// signed shows the reports; a refused file, or a stale one under --check,
// decides the exit status.
func signed(c *cli.Call, reports []primary.SignReport) error {
	counts := map[primary.SignStatus]int{}
	var fs []diag.Finding
	for _, r := range reports {
		counts[r.Status]++
		cli.FillFixes(r.Findings)
		fs = append(fs, r.Findings...)
		if r.Status == primary.Stale {
			f := diag.Errorf(diag.Drift, 0, 0, "%s is not signed as it stands", r.Path)
			f.Fix = "rye sign " + r.Path
			if c.Bool("upgrade") {
				f.Message, f.Fix = r.Path+" would be upgraded", "rye sign --upgrade REF"
			}
			fs = append(fs, f)
		}
	}
	data := map[string]any{"files": reports, "signed": counts[primary.Signed], "unchanged": counts[primary.Unchanged],
		"stale": counts[primary.Stale], "refused": counts[primary.Refused]}
	if c.Bool("upgrade") {
		data["upgraded"], data["skipped"] = counts[primary.Upgraded], counts[primary.Skipped]
	}
	err := diag.FromFindings("signing", fs)
	human := func() {
		for _, r := range reports {
			showSignLine(c.UI, r)
		}
		c.UI.Note("%s", signSummary(counts, c.Bool("upgrade"), c.Bool("check")))
	}
	return c.UI.Report(err, data, fs, human)
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

func showSignLine(u *cli.UI, r primary.SignReport) {
	style := map[primary.SignStatus]string{primary.Signed: cli.Green, primary.Upgraded: cli.Green, primary.Refused: cli.Red, primary.Stale: cli.Yellow, primary.Unchanged: cli.Dim, primary.Skipped: cli.Yellow}[r.Status]
	name := r.Ref
	if name == "" {
		name = "(no item)"
	}
	if r.Support {
		name += " (support file)"
	}
	u.Out("%s  %s  %s", u.Style(style, fmt.Sprintf("%-9s", r.Status)), name, u.Style(cli.Dim, r.Path))
	for _, f := range r.Findings {
		u.Finding(f)
	}
}
