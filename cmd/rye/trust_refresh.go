package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func trustRefreshCommand() *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "say, signed, which revocations the project has as of now",
		Long: `Writes the list of the project's revocations into .ai/trust, signed by a key of
yours that may revoke. Whoever has that key as an anchor notices when one of them
is removed, and machines that set RYE_REVOCATION_MAX_AGE refuse with STALE when
the newest list is older than that. rye.lock, where there is one, records the list:
an older one, or none, is ROLLBACK from then on.`,
		Examples: []string{"rye trust refresh", "RYE_REVOCATION_MAX_AGE=7d rye verify  # in CI"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.Scope, diag.AuthRequired},
		Flags:    []cli.Flag{&cli.StringFlag{Name: "key", Usage: "sign the list with this own `KEY`"}},
		Run:      runTrustRefresh,
	}
}

func runTrustRefresh(ctx context.Context, c *cli.Call) error {
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir, err := h.ProjectTrust()
	if err != nil {
		return err
	}
	signer, err := h.Signer(ctx)
	if err != nil {
		return err
	}
	if err := mustAnchor(h, signer, "revoke"); err != nil {
		return err
	}
	listed := h.Trust.ProjectRevocations()
	name, b, err := doc.NewRevocationList(ctx, listed, signer, c.Now())
	if err != nil {
		return err
	}
	if err := h.RecordDocuments(ctx, space.Project, trust.File{Name: name, Data: b}); err != nil {
		return err
	}
	at, err := trust.AddToProject(dir, name, b)
	if err != nil {
		return err
	}
	if err := copyAnchor(h, dir, signer); err != nil {
		return err
	}
	stapled, err := h.Staple(ctx)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"list": at, "listed": listed, "locked": stapled}, func() {
		c.UI.Out("listed %s", plural(len(listed), "revocation"))
		c.UI.Out("list %s", fromHere(c, at))
		showStapled(c.UI, stapled)
	})
}
