package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

func trustRefreshCommand() *command {
	return &command{
		name: "refresh", usage: "say, signed, which revocations the project has as of now",
		long: `Writes the list of the project's revocations into .ai/trust, signed by a key of
yours that may revoke. Whoever has that key as an anchor notices when one of them
is removed, and machines that set RYE_REVOCATION_MAX_AGE refuse with STALE when
the newest list is older than that. rye.lock, where there is one, records the list:
an older one, or none, is ROLLBACK from then on.`,
		examples: []string{"rye trust refresh", "RYE_REVOCATION_MAX_AGE=7d rye verify  # in CI"},
		codes:    []diag.Code{diag.ItemNotFound, diag.Scope, diag.AuthRequired},
		flags:    []cli.Flag{&cli.StringFlag{Name: "key", Usage: "sign the list with this own `KEY`"}},
		run:      runTrustRefresh,
	}
}

func runTrustRefresh(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	dir, err := h.projectTrust()
	if err != nil {
		return err
	}
	signer, err := c.signer(ctx, h)
	if err != nil {
		return err
	}
	if err := h.mustAnchor(signer, "revoke"); err != nil {
		return err
	}
	listed := h.trust.ProjectRevocations()
	name, b, err := trust.NewRevocationList(ctx, listed, signer, c.Now())
	if err != nil {
		return err
	}
	if err := c.recordDocuments(ctx, h, space.Project, trust.File{Name: name, Data: b}); err != nil {
		return err
	}
	at, err := trust.AddToProject(dir, name, b)
	if err != nil {
		return err
	}
	if err := h.copyAnchor(dir, signer); err != nil {
		return err
	}
	stapled, err := c.staple(ctx, h)
	if err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"list": at, "listed": listed, "locked": stapled}, func() {
		c.ui.Out("listed %s", plural(len(listed), "revocation"))
		c.ui.Out("list %s", c.fromHere(at))
		c.ui.stapled(stapled)
	})
}
