package sign

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

func Command() *cli.Command {
	var o view.SignOptions
	return &cli.Command{
		Name:  "sign",
		Group: "Items",
		Usage: "validate items and sign them",
		Args:  "[ID|GLOB|PATH…]",
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
		Codes: []diag.Code{
			diag.Drift,
			diag.ValidationFailed,
			diag.HiddenChars,
			diag.ItemNotFound,
			diag.AuthRequired,
			diag.ApprovalRequired,
		},
		Flags: []cli.Flag{
			cli.Bool(&o.Staged, "staged", "sign the staged items in git's index"),
			cli.Bool(&o.IndexOnly, "index-only", "with --staged: never write the work tree"),
			cli.Bool(&o.Differing, "differing", "with --staged: show differences from the files, do not ask"),
			cli.Bool(&o.All, "all", "sign every item of the project, as '*' does"),
			cli.Bool(&o.TakeOver, "take-over", "replace the signatures of other keys"),
			cli.Bool(&o.Check, "check", "change nothing; fail if an item is not signed by the key"),
			cli.String(&o.Key, "key", "sign with this `KEY`: a fingerprint, an owner or a file"),
			cli.Bool(&o.Upgrade, "upgrade", "sign only items with a valid signature of the original"),
			cli.Strings(&o.LegacyKeys, "legacy-key", "also check old signatures with the public key in `FILE`"),
		},
		Exclusive: [][]any{
			{&o.Staged, &o.Upgrade, &o.TakeOver},
			{&o.Staged, &o.All},
			{&o.IndexOnly, &o.Check},
			{&o.Differing, &o.Check},
		},
		Needs:    []cli.Need{{Flag: &o.IndexOnly, With: &o.Staged}, {Flag: &o.Differing, With: &o.Staged}, {Flag: &o.LegacyKeys, With: &o.Upgrade}},
		Complete: complete.Items(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSign(ctx, c, &o)
		},
	}
}

func runSign(ctx context.Context, c *cli.Call, o *view.SignOptions) error {
	if o.Staged {
		return runSignStaged(ctx, c, o)
	}
	words := c.Args
	if o.All {
		words = append([]string{"*"}, words...)
	}
	if len(words) == 0 {
		return diag.New(diag.Usage, "reading arguments: %q needs ID|GLOB|PATH…", "rye sign").WithReason("sign_nothing")
	}
	e := signingEnv(c, o)
	if !o.Check {
		if err := revision.FinishSigning(ctx, e); err != nil {
			return err
		}
	}
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	old, err := h.Keys.LegacyKeys(o.LegacyKeys)
	if err != nil {
		return err
	}
	targets := make([]string, len(words))
	for i, word := range words {
		targets[i] = h.Shown(word)
	}
	call := primary.SignCall{
		Held:       policy.Person(),
		Targets:    targets,
		Dir:        c.Base,
		Check:      o.Check,
		Upgrade:    o.Upgrade,
		LegacyKeys: old,
		TakeOver:   o.TakeOver,
		Ask:        askToSign(c),
		LastByPerson: func(ctx context.Context, it *resolve.Item) ([]byte, string) {
			return signing.LastByPerson(ctx, h, it)
		},
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
			err = project.NoFile(env.Of(c), err, c.Arg(0))
		}
		return err
	}
	for _, note := range h.Resolver.Notes() {
		c.UI.Warn("%s", note.Finding)
	}
	if !o.Check {
		if err := refreshLock(ctx, c, h, reports); err != nil {
			return err
		}
	}
	return view.Signed(c.UI, reports, o)
}

// refreshLock brings the lock up to date with signed items. The target "*" names all items, so
// the entries of deleted ones go.
func refreshLock(
	ctx context.Context,
	c *cli.Call,
	p *project.Project,
	reports []primary.SignReport,
) error {
	if slices.Contains(c.Args, "*") {
		return relock.RefreshWhole(ctx, p, reports)
	}
	return relock.Refresh(ctx, p, reports)
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
func signingEnv(c *cli.Call, o *view.SignOptions) *project.Env {
	e := env.Of(c)
	e.Key = o.Key
	return e
}
