package trust

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/packages"
)

func acceptMoveCommand() *cli.Command {
	var o env.ConsentOptions
	return &cli.Command{
		Name:  "accept-move",
		Usage: "accept the new commit of a locked bundle's tag",
		Args:  "BUNDLE",
		Long: `A released version that changes may be an attack: ask its publisher first, and not
through the repository. The new content must pass the checks of any other version,
and new tools, directives and permissions need your yes. Then rye.lock and rye.sum record it in place of the old content.`,
		Examples: []string{"rye trust accept-move github.com/acme/tools"},
		Codes:    env.PackageCodes(diag.ConsentRequired),
		Flags:    env.ConsentFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return env.ChangePackages(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
				return x.AcceptMove(
					ctx,
					c.Arg(0),
					ask.ConfirmChanges(c, x, o.Yes, "accepting"),
				)
			})
		},
	}
}
