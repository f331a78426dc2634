package items

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

func DiffCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "diff",
		Group: env.PackagesGroup,
		Usage: "print the lines that differ in another version of a bundle",
		Args:  "BUNDLE [VERSION]",
		Long: `Compares the locked files of a bundle with the files of VERSION, by default the newest
version that rye update would select. Signature lines and manifests are left out.
Nothing is installed or run. VERSION is not verified: rye update checks its signature.
rye delta lists the items of this project that shadow others.`,
		Examples: []string{"rye diff tools", "rye diff github.com/acme/tools v1.4.0", "rye update --dry-run     # which items differ"},
		Codes: []diag.Code{
			diag.LockMissing,
			diag.SourceNotFound,
			diag.VersionNotFound,
			diag.AmbiguousItem,
			diag.PolicyDenied,
			diag.TagMoved,
			diag.Network,
			diag.AuthRequired,
		},
		Flags: env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runDiff(ctx, c, &o)
		},
	}
}

func runDiff(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	x, err := env.OpenPackages(ctx, c, o)
	if err != nil {
		return err
	}
	defer x.Close()
	d, err := x.Diff(ctx, c.Arg(0), c.Arg(1))
	x.Close() // removes the progress line
	if err != nil {
		return err
	}
	return c.UI.Show(d, func() { showBundleDiff(c.UI, d) })
}

func showBundleDiff(u *cli.UI, d *packages.Diff) {
	if len(d.Files) == 0 {
		u.Note("%s: no file differs between %s and %s.", d.ID, d.From, d.To)
		return
	}
	u.Note("%s %s -> %s, not verified", d.ID, d.From, d.To)
	for _, f := range d.Files {
		u.Out(
			"%s %s",
			cli.Pick(f.Op == lock.Added, "new", string(f.Op)),
			f.Name,
		)
		if f.Text == "" {
			u.Out("    %s is not text", f.Path)
			continue
		}
		u.Text(f.Text)
	}
}
