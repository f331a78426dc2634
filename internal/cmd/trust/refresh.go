package trust

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

func trustRefreshCommand() *cli.Command {
	var key string
	return &cli.Command{
		Name:  "refresh",
		Usage: "sign a current list of the project's revocations",
		Long: `Writes the list of the project's revocations into .ai/trust, signed by your key, which
must be permitted to revoke. Users with that key as an anchor then detect the removal
of a revocation, and machines with RYE_REVOCATION_MAX_AGE refuse an older list with
STALE. rye.lock, if it exists, records the list: an older or missing list is an error
with the code ROLLBACK from then on.`,
		Examples: []string{"rye trust refresh", "RYE_REVOCATION_MAX_AGE=7d rye verify  # in CI"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.Scope, diag.AuthRequired},
		Flags:    []cli.Flag{cli.String(&key, "key", "sign the list with this own `KEY`")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTrustRefresh(ctx, c, key)
		},
	}
}

func runTrustRefresh(ctx context.Context, c *cli.Call, key string) error {
	e := env.Of(c)
	e.Key = key
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	dir, err := h.ProjectTrust()
	if err != nil {
		return err
	}
	signer, err := h.Keys.SignerFor(ctx, "revoke")
	if err != nil {
		return err
	}
	if err := env.MustAnchor(h, signer, "revoke"); err != nil {
		return err
	}
	listed := h.Trust.ProjectRevocations()
	name, b, err := doc.NewRevocationList(ctx, listed, signer, c.Now())
	if err != nil {
		return err
	}
	err = h.Recorder().Documents(ctx, space.Project, trust.File{Name: name, Data: b})
	if err != nil {
		return err
	}
	at, err := trust.AddToProject(dir, name, b)
	if err != nil {
		return err
	}
	if err := copyAnchor(h, dir, signer); err != nil {
		return err
	}
	stapled, err := relock.Staple(ctx, h)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"list": at, "listed": listed, "locked": stapled}, func() {
		c.UI.Out("listed %s", cli.Plural(len(listed), "revocation"))
		c.UI.Out("list %s", env.FromHere(c, at))
		env.ShowStapled(c.UI, stapled)
	})
}
