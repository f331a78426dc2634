package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

const packagesGroup = "Packages"

// packageOptions are the flags of every command for the bundles of a space.
type packageOptions struct {
	space  space.Name
	locked bool
	look   bool                        // only inspect releases: no project is needed
	expect map[lock.Module]item.Digest // manifests that the user was shown
}

// packageFlags returns the flags that fill o, after the command's own.
func packageFlags(o *packageOptions, own ...cli.Flag) []cli.Flag {
	o.space = space.Project
	return append(own,
		cli.String(&o.space, "space", "`SPACE` of the bundles: project, user or system").OneOf(spaceNames()...),
		cli.Bool(&o.locked, "locked", "refuse to change rye.lock (default in CI for lock and sync; --locked=false is honoured)"),
	)
}

// consentOptions are the flags of a command that may bring new contents of bundles.
type consentOptions struct {
	packageOptions
	yes bool
}

// consentFlags returns the flags that fill o, after the command's own.
func consentFlags(o *consentOptions, own ...cli.Flag) []cli.Flag {
	return packageFlags(&o.packageOptions, append(own, cli.Bool(&o.yes, "yes", "accept new tools, directives, permissions and overrides without a question"))...)
}

// packageCodes returns the codes of a refused bundle and the command's own.
func packageCodes(own ...diag.Code) []diag.Code {
	return append(own, diag.LockStale, diag.SourceNotFound, diag.VersionNotFound, diag.Unresolvable,
		diag.LockMismatch, diag.HashMismatch, diag.TagMoved, diag.ImpostorCommit, diag.SumConflict, diag.LockRepointed,
		diag.Unsigned, diag.KeyUnknown, diag.SignerChanged, diag.Threshold, diag.PolicyDenied, diag.Cooldown, diag.Network, diag.AuthRequired)
}

// packagesEnv returns the environment with the flags of o.
func packagesEnv(c *cli.Call, o *packageOptions) *project.Env {
	e := envOf(c)
	e.SetLocked(c.Given(&o.locked), o.locked)
	return e
}

// openPackages opens the bundles of a space and shows the progress of fetching.
// Packages.Close must be called by commands that write.
func openPackages(ctx context.Context, c *cli.Call, o *packageOptions) (*project.Packages, error) {
	bar := newProgress(c)
	return packagesEnv(c, o).Packages(ctx, project.PackagesParams{Space: o.space, Progress: bar.event, Done: bar.clear, Look: o.look, Expect: o.expect})
}

// changePackages runs change, adapts the entries of items to the installed bundles,
// and prints the result.
func changePackages(ctx context.Context, c *cli.Call, o *packageOptions, change func(x *project.Packages) (*packages.Result, error)) error {
	return changeAnd(ctx, c, o, packagesEnv(c, o).FollowBundles, change)
}

// changeAndLock is changePackages that records all items of the project in the
// lock, so that it is complete.
func changeAndLock(ctx context.Context, c *cli.Call, o *packageOptions, change func(x *project.Packages) (*packages.Result, error)) error {
	return changeAnd(ctx, c, o, packagesEnv(c, o).LockItems, change)
}

func changeAnd(ctx context.Context, c *cli.Call, o *packageOptions, follow func(context.Context, *project.Packages, *packages.Result) error,
	change func(x *project.Packages) (*packages.Result, error)) error {
	x, err := openPackages(ctx, c, o)
	if err != nil {
		return err
	}
	defer x.Close()
	r, err := change(x)
	if err == nil {
		err = follow(ctx, x, r)
	}
	// The progress line must be gone before anything is printed.
	x.Close()
	if err != nil {
		return err
	}
	return c.UI.Show(r, func() { showChanges(c.UI, r) })
}

// parseQuery reads SOURCE[@VERSION] with the default registry filled in.
func parseQuery(c *cli.Call, word string) (packages.Query, error) {
	full, err := envOf(c).FullRegistryID(word)
	if err != nil {
		return packages.Query{}, err
	}
	return packages.ParseQuery(full)
}
