package trust

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "trust",
		Group: "Trust",
		Usage: "manage trusted keys",
		Subs: []*cli.Command{
			trustAddCommand(), trustListCommand(), trustRemoveCommand(), trustAcceptCommand(), trustEndorseCommand(),
			trustRefreshCommand(), trustExplainCommand(), trustInterpreterCommand(), trustServerCommand(), trustDirectoryCommand(), acceptMoveCommand(),
		},
	}
}

// permission returns the scope and end of a grant or endorsement, from the flags or
// from answers at a terminal, and the key that signs it.
func permission(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	document *doc.Key,
	b []byte,
	o *ask.PermissionOptions,
) (doc.PermissionParams, sign.Signer, error) {
	p := doc.PermissionParams{Document: b, Now: c.Now()}
	var err error
	if p.Scope, err = o.Scope(c, document); err != nil {
		return p, nil, err
	}
	signer, err := h.Keys.SignerFor(ctx, o.Use)
	if err != nil {
		return p, nil, err
	}
	if o.Until != "" {
		p.NotAfter, err = env.Until(o.Until, c.Now())
	}
	return p, signer, err
}

// noDocument is the error about the file of a document that cannot be read.
func noDocument(err error) error {
	return diag.New(diag.FileSystemError, "reading trust document: %w", err).WithReason("no_document")
}

func trustListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list trusted keys and the project's proposals",
		Examples: []string{"rye trust list", "rye trust list --json"},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			keys := h.Trust.Keys()
			proposals := h.Trust.Proposals()
			set := h.Trust.ProjectSet()
			data := map[string]any{
				"keys":      keys,
				"proposals": proposals,
				"set":       set,
				"findings":  h.BadTrust,
			}
			return c.UI.Show(data, func() {
				for i := range proposals {
					proposals[i].Path = env.FromHere(c, proposals[i].Path)
				}
				showTrustList(c.UI, keys, proposals, set, h.BadTrust)
			})
		},
	}
}

func showTrustList(
	u *cli.UI,
	keys []trust.KeyInfo,
	proposals []trust.Proposal,
	set trust.ProjectSet,
	bad []diag.Finding,
) {
	t := cli.NewTable("trust")
	for _, k := range keys {
		until := "never"
		tier := string(k.Tier)
		if !k.NotAfter.IsZero() {
			until = k.NotAfter.Format(time.DateOnly)
		}
		if k.Own {
			tier += " (own)"
		}
		t.Add(
			k.Fingerprint.Short(),
			k.Owner,
			tier,
			string(k.State),
			until,
			k.Scope.String(),
		)
	}
	u.Table(t)
	for _, p := range proposals {
		if !p.Counts {
			u.Note(
				"proposal, not trusted: %s (%s %s)",
				p.Path,
				cmp.Or(p.Owner, p.Kind),
				p.Fingerprint.Short(),
			)
		}
	}
	if set.State == trust.SetAccepted || set.State == trust.SetChanged {
		u.Note("the project's trust set: %s (%s)", string(set.State), set.At.Format(time.DateOnly))
	}
	for _, f := range bad {
		u.Warn("%s", f)
	}
}

func trustRemoveCommand() *cli.Command {
	return &cli.Command{
		Name:     "remove",
		Usage:    "stop trusting a key",
		Args:     "KEY",
		Long:     "KEY is a fingerprint, the beginning of one, or an owner. The key's document and your grant are removed.",
		Examples: []string{"rye trust remove 4f3a"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Complete: complete.Keys(false),
		Run:      runTrustRemove,
	}
}

func runTrustRemove(ctx context.Context, c *cli.Call) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	var found []sign.Fingerprint
	for _, k := range h.Trust.Keys() {
		if k.Tier != trust.TierEmbedded &&
			(strings.HasPrefix(k.Fingerprint.String(), strings.ToLower(c.Arg(0))) || k.Owner == c.Arg(0)) {
			found = append(found, k.Fingerprint)
		}
	}
	fp, err := env.TheKey("removing", c.Arg(0), found)
	if err != nil {
		return err
	}
	gone, err := trust.RemoveKey(h.Dirs.Trust(), fp)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"fingerprint": found[0], "removed": gone}, func() {
		for _, p := range gone {
			c.UI.Out("removed %s", p)
		}
	})
}

func trustExplainCommand() *cli.Command {
	return &cli.Command{
		Name:     "explain",
		Usage:    "explain step by step why an item is trusted or not",
		Args:     "REF|PATH",
		Examples: []string{"rye trust explain tool:demo/hello", "rye trust explain .ai/tools/demo/hello.py"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Complete: complete.Items(),
		Run:      runTrustExplain,
	}
}

func runTrustExplain(ctx context.Context, c *cli.Call) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	it, err := h.ItemAt(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	lines := h.Trust.Explain(it.Verdict, h.Resolver.TrustInput(it))
	return c.UI.Show(
		map[string]any{
			"ref":     it.Ref.String(),
			"path":    it.Path(),
			"verdict": it.Verdict,
			"steps":   lines,
		},
		func() {
			view.Steps(c.UI, it.Path(), lines)
		},
	)
}
