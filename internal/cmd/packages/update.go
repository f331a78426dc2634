package packages

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
)

// updateOptions are the flags of rye update.
type updateOptions struct {
	env.ConsentOptions
	dryRun bool
}

func UpdateCommand() *cli.Command {
	var o updateOptions
	return &cli.Command{
		Name:  "update",
		Group: env.PackagesGroup,
		Usage: "raise the requirements of rye.yaml to the newest versions",
		Args:  "[BUNDLE…]",
		Long: `Excluded versions, versions younger than policy.min-age, and pre-releases that
rye.yaml does not name are not selected. If a tag no longer names the locked commit,
nothing is updated.

rye shows the items that an update adds, changes and removes. New tools, capabilities,
executables, hosts and signers, bundles that nothing required before, and items that
are used instead of one of your user space or of the system need your yes: at a
terminal, or with --yes. --dry-run shows the same and changes nothing; rye diff prints
the lines that differ.`,
		Examples: []string{"rye update --dry-run", "rye update", "rye update github.com/acme/tools --yes"},
		Codes:    env.PackageCodes(diag.ConsentRequired, diag.AmbiguousItem),
		Flags:    env.ConsentFlags(&o.ConsentOptions, cli.Bool(&o.dryRun, "dry-run", "show what would change and change nothing").Alias("plan")),
		Run: func(ctx context.Context, c *cli.Call) error {
			change := env.ChangeAndLock
			if o.dryRun {
				change = env.ChangePackages
			}
			return change(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
				return x.Update(ctx, packages.UpdateParams{Names: c.Args, Plan: o.dryRun, Approve: ask.ConfirmChanges(c, x, o.Yes, "updating")})
			})
		},
	}
}

func OutdatedCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "outdated",
		Group: env.PackagesGroup,
		Usage: "show locked bundles that have newer versions",
		Long: `Asks each remote once. If a tag no longer names the locked commit, the list is
printed and the command fails. The newest version of a remote that does not answer
is unknown; the command fails then too, with exit status 9.`,
		Examples: []string{"rye outdated", "rye outdated --json"},
		Codes:    []diag.Code{diag.LockMissing, diag.TagMoved, diag.ImpostorCommit, diag.LockRepointed, diag.Network},
		Flags:    env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runOutdated(ctx, c, &o)
		},
	}
}

func runOutdated(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	x, err := env.OpenPackages(ctx, c, o)
	if err != nil {
		return err
	}
	defer x.Close()
	list, err := x.Outdated(ctx)
	x.Close() // removes the progress line
	if err != nil && list == nil {
		return err
	}
	outdated := []packages.Outdated{}
	for _, b := range list {
		if b.Newest != b.Locked ||
			b.Held != "" ||
			b.Alarm != "" ||
			b.State != "" ||
			c.UI.Detailed {
			outdated = append(outdated, b)
		}
	}
	data := map[string]any{"bundles": outdated, "total": len(list)}
	if err != nil && c.UI.AsJSON {
		return cli.Shown(err, data)
	}
	show := c.UI.Show(data, func() {
		showOutdated(c.UI, outdated, len(list))
	})
	if err != nil {
		return err
	}
	return show
}

func showOutdated(u *cli.UI, list []packages.Outdated, all int) {
	if len(list) == 0 {
		u.Note("%s, none outdated.", cli.Plural(all, "bundle"))
		return
	}
	t := cli.NewTable("outdated")
	for _, o := range list {
		remark := string(o.Alarm)
		if remark == "" && o.Held != "" {
			remark = o.Held + " is younger than policy.min-age allows"
		}
		if remark == "" && o.State != "" {
			remark = strings.TrimSuffix(o.State+": "+o.Reason, ": ")
		}
		t.Add(o.ID, o.Locked, cmp.Or(o.Newest, "unknown"), remark)
	}
	u.Table(t)
}

func InfoCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "info",
		Group: env.PackagesGroup,
		Usage: "show the versions of a bundle and what it brings",
		Args:  "SOURCE[@VERSION]",
		Long: `Prints the entry of rye.lock and the versions that the remote has. Of a bundle that is
not locked, or with a version, also what the release brings: signers, items,
capabilities, executables and hosts. This works before you trust the signer; nothing is
verified or installed.

Of a repository without a manifest, such as one with skills, it prints the components: their
scripts, the programs, hosts and variables that they name, the code that they fetch, and
the notices of config:review/notices. A component without notices has no line about them:
rye finds patterns, not intentions.`,
		Examples: []string{
			"rye info github.com/acme/tools",
			"rye info github.com/acme/tools@v1.4.0",
			"rye info tools --offline",
			"rye info github.com/acme/skills",
		},
		Codes: []diag.Code{diag.SourceNotFound, diag.VersionNotFound, diag.Unsigned, diag.Network, diag.AuthRequired},
		Flags: env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			err := env.ShowInfo(ctx, c, &o)
			if errors.Is(err, source.ErrNoBundle) {
				return showSource(ctx, c, &o)
			}
			return err
		},
	}
}
