package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
)

// signOptions are the flags of rye sign.
type signOptions struct {
	staged, indexOnly, differing, all, check, upgrade, takeOver bool

	key        string
	legacyKeys []string
}

func signCommand() *cli.Command {
	var o signOptions
	return &cli.Command{
		Name: "sign", Group: "Items",
		Usage: "validate items and sign them", Args: "[ID|GLOB|PATH…]",
		Long: `A target is a path, a ref such as tool:demo/hello, an id, or a glob over ids; '*'
is every item of the project. rye refuses an item that does not match its schema or
that contains hidden characters, and leaves the file as it is. Signing a second time
changes nothing.

A glob or a directory signs files without a signature and files that one of your keys
signed last. It skips drafts and files that another key signed: you may not have read
them. Name such a file to sign it. If another key signed it, rye asks first, or refuses
without a terminal; --take-over is the answer yes, also for a glob. rye shows what
changed in a draft since a person signed it.

--staged signs the staged items in git's index, so that the next
commit contains them signed. It writes a file of the work tree only if the file
equals its staged version. If the staged text of an item differs from its file, rye
shows the difference and asks, or refuses without a terminal; --differing shows it and
signs. If rye.lock exists, the entries of the signed tools are
updated.

--upgrade is for items of the Python original. It signs the items whose old
signature is valid by the original's rules, and lists what that signature never
covered. Old keys come from .ai/trusted_keys in your home and from --legacy-key,
never from the project.`,
		Examples: []string{
			"rye sign tool:demo/hello",
			"rye sign '*'",
			"rye sign .ai/tools/demo --check  # in CI",
			"rye sign --take-over tool:demo/theirs",
			"rye sign --staged                # what the commit hook does",
			"rye sign --staged --differing    # after git add -p, without a question",
			"rye sign '*' --upgrade --legacy-key old/public_key.pem",
		},
		Codes: []diag.Code{diag.Drift, diag.ValidationFailed, diag.HiddenChars, diag.ItemNotFound, diag.AuthRequired, diag.ApprovalRequired},
		Flags: []cli.Flag{
			cli.Bool(&o.staged, "staged", "sign the staged items in git's index"),
			cli.Bool(&o.indexOnly, "index-only", "with --staged: never write the work tree"),
			cli.Bool(&o.differing, "differing", "with --staged: show differences from the files, do not ask"),
			cli.Bool(&o.all, "all", "sign every item of the project, as '*' does"),
			cli.Bool(&o.takeOver, "take-over", "replace the signatures of other keys"),
			cli.Bool(&o.check, "check", "change nothing; fail if an item is not signed by the key"),
			cli.String(&o.key, "key", "sign with this `KEY`: a fingerprint, an owner or a file"),
			cli.Bool(&o.upgrade, "upgrade", "sign only items with a valid signature of the original"),
			cli.Strings(&o.legacyKeys, "legacy-key", "also check old signatures with the public key in `FILE`"),
		},
		Exclusive: [][]any{{&o.staged, &o.upgrade, &o.takeOver}, {&o.staged, &o.all}, {&o.indexOnly, &o.check}, {&o.differing, &o.check}},
		Needs:     []cli.Need{{Flag: &o.indexOnly, With: &o.staged}, {Flag: &o.differing, With: &o.staged}, {Flag: &o.legacyKeys, With: &o.upgrade}},
		Complete:  completeItems(),
		Run:       func(ctx context.Context, c *cli.Call) error { return runSign(ctx, c, &o) },
	}
}

func runSign(ctx context.Context, c *cli.Call, o *signOptions) error {
	if o.staged {
		return runSignStaged(ctx, c, o)
	}
	words := c.Args
	if o.all {
		words = append([]string{"*"}, words...)
	}
	if len(words) == 0 {
		return diag.New(diag.Usage, "reading arguments: %q needs ID|GLOB|PATH…", "rye sign").WithReason("sign_nothing")
	}
	e := signingEnv(c, o)
	if !o.check {
		if err := e.FinishSigning(ctx); err != nil {
			return err
		}
	}
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	old, err := h.Keys.LegacyKeys(o.legacyKeys)
	if err != nil {
		return err
	}
	targets := make([]string, len(words))
	for i, word := range words {
		targets[i] = h.Shown(word)
	}
	call := primary.SignCall{
		Held: policy.Person(), Targets: targets, Dir: c.Base, Check: o.check, Upgrade: o.upgrade, LegacyKeys: old,
		TakeOver: o.takeOver, Ask: askToSign(c), LastByPerson: h.LastByPerson,
	}
	if call.Ask != nil { // a passphrase may be asked for; Sign reports an error in the targets
		call.Before, _ = h.Verbs.Seen(ctx, call)
	}
	if call.Signer, err = h.Keys.Signer(ctx); err != nil {
		return err
	}
	reports, err := h.Verbs.Sign(ctx, call)
	if err != nil {
		if len(c.Args) == 1 {
			err = project.NoFile(envOf(c), err, c.Arg(0))
		}
		return err
	}
	for _, note := range h.Resolver.Notes() {
		c.UI.Warn("%s", note.Finding)
	}
	if !o.check {
		refresh := h.RefreshLock
		if slices.Contains(c.Args, "*") {
			refresh = h.RefreshWholeLock
		}
		if err := refresh(ctx, reports); err != nil {
			return err
		}
	}
	return showSigned(c.UI, reports, o)
}

// askToSign returns how rye sign asks its user, nil without a terminal.
func askToSign(c *cli.Call) func(context.Context, string, string) (bool, error) {
	if !c.Isatty(c.Stdin) || c.UI.AsJSON {
		return nil
	}
	return func(_ context.Context, text, question string) (bool, error) {
		if text != "" {
			c.UI.Text(text)
		}
		return c.Confirm(question)
	}
}

// signingEnv is the environment with the key that the user chose.
func signingEnv(c *cli.Call, o *signOptions) *project.Env {
	e := envOf(c)
	e.Key = o.key
	return e
}

// showSigned prints the reports. A refused file, or a stale one with --check,
// decides the exit status.
func showSigned(u *cli.UI, reports []primary.SignReport, o *signOptions) error {
	counts := map[primary.SignStatus]int{}
	var fs []diag.Finding
	for _, r := range reports {
		counts[r.Status]++
		cli.FillFixes(r.Findings)
		fs = append(fs, r.Findings...)
		if r.Status == primary.Stale {
			f := diag.Errorf(diag.Drift, 0, 0, "the current content of %s is not signed", r.Path).WithReason("sign")
			if o.upgrade {
				f = diag.Errorf(diag.Drift, 0, 0, "%s would be upgraded", r.Path).WithReason("upgrade")
			}
			f.Facts = map[string]any{"file": r.Path}
			fs = append(fs, f)
		}
	}
	data := map[string]any{"files": reports, "signed": counts[primary.Signed], "unchanged": counts[primary.Unchanged],
		"stale": counts[primary.Stale], "refused": counts[primary.Refused], "skipped": counts[primary.Skipped]}
	if o.upgrade {
		data["upgraded"] = counts[primary.Upgraded]
	}
	err := diag.FromFindings("signing", fs)
	human := func() {
		many := manySigned(u, reports)
		for _, r := range reports {
			if many[r.Status] > 0 && plainReport(r) {
				continue
			}
			if r.Status != primary.Unchanged || !r.Found || len(r.Findings) > 0 {
				showSignLine(u, r)
			}
		}
		for _, s := range []primary.SignStatus{primary.Signed, primary.Upgraded} {
			if many[s] > 0 {
				u.Out("%s  %s (-v lists them)", u.Style(cli.Green, fmt.Sprintf("%-9s", s)), project.Count(many[s], "file"))
			}
		}
		u.Note("%s", signSummary(counts, o.upgrade, o.check))
	}
	return u.Report(err, data, fs, human)
}

// manySigned returns the number of reports of each status that are shown as one line.
func manySigned(u *cli.UI, reports []primary.SignReport) map[primary.SignStatus]int {
	many := map[primary.SignStatus]int{}
	for _, r := range reports {
		if plainReport(r) {
			many[r.Status]++
		}
	}
	for s, n := range many {
		if u.Detailed || n <= project.LongList || s != primary.Signed && s != primary.Upgraded {
			delete(many, s)
		}
	}
	return many
}

// plainReport reports whether a report has nothing to show but the name of its file.
func plainReport(r primary.SignReport) bool {
	return len(r.Findings) == 0 && r.Replaces == nil && r.Diff == ""
}

func signSummary(n map[primary.SignStatus]int, upgrade, check bool) string {
	if !upgrade {
		done := fmt.Sprintf("%d signed, %d unchanged, %d refused", n[primary.Signed], n[primary.Unchanged], n[primary.Refused])
		if n[primary.Skipped] > 0 {
			done += fmt.Sprintf(", %d skipped", n[primary.Skipped])
		}
		return done
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
	if r.Diff != "" && !r.Asked {
		u.Text(r.Diff)
	}
	u.Out("%s  %s  %s", u.Style(style, fmt.Sprintf("%-9s", r.Status)), name, u.Style(cli.Dim, r.Path))
	if text := replaces(r, "  "); text != "" {
		u.Out("%s", text)
	}
	for _, f := range r.Findings {
		u.Finding(f)
	}
}

// replaces describes the signature of another key that a new one replaces, "" if there
// is none.
func replaces(r primary.SignReport, before string) string {
	if r.Replaces == nil || r.Status == primary.Refused {
		return ""
	}
	return fmt.Sprintf("%sreplaces the signature of %s (%s)", before, r.Replaces.Key[:16], cmp.Or(r.Replaces.Owner, "unknown"))
}
