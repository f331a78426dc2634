package env

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

const PackagesGroup = "Packages"

// PackageOptions are the flags of every command for the bundles of a space.
type PackageOptions struct {
	Space  space.Name
	Locked bool
	Look   bool                        // only inspect releases: no project is needed
	Expect map[lock.Module]item.Digest // manifests that the user was shown
}

// PackageFlags returns the flags that fill o, after the command's own.
func PackageFlags(o *PackageOptions, more ...cli.Flag) []cli.Flag {
	o.Space = space.Project
	return append(more,
		cli.String(&o.Space, "space", "`SPACE` of the bundles: project, user or system").OneOf(SpaceNames()...),
		cli.Bool(&o.Locked, "locked", "refuse to change rye.lock (default in CI for lock and sync; --locked=false is honoured)"),
	)
}

// ConsentOptions are the flags of a command that may bring new contents of bundles.
type ConsentOptions struct {
	PackageOptions
	Yes bool
}

// ConsentFlags returns the flags that fill o, after the command's own.
func ConsentFlags(o *ConsentOptions, more ...cli.Flag) []cli.Flag {
	return PackageFlags(&o.PackageOptions, append(more, cli.Bool(&o.Yes, "yes", "accept new tools, directives, permissions and overrides without a question"))...)
}

// PackageCodes returns the codes of a refused bundle and the command's own.
func PackageCodes(more ...diag.Code) []diag.Code {
	return append(more, diag.LockStale, diag.SourceNotFound, diag.VersionNotFound, diag.Unresolvable,
		diag.LockMismatch, diag.HashMismatch, diag.TagMoved, diag.ImpostorCommit, diag.SumConflict, diag.LockRepointed,
		diag.Unsigned, diag.KeyUnknown, diag.SignerChanged, diag.Threshold, diag.PolicyDenied, diag.Cooldown, diag.Network, diag.AuthRequired)
}

// PackagesEnv returns the environment with the flags of o.
func PackagesEnv(c *cli.Call, o *PackageOptions) *project.Env {
	e := Of(c)
	e.SetLocked(c.Given(&o.Locked), o.Locked)
	return e
}

// OpenPackages opens the bundles of a space and shows the progress of fetching.
// Packages.Close must be called by commands that write.
func OpenPackages(ctx context.Context, c *cli.Call, o *PackageOptions) (*deps.Packages, error) {
	bar := NewProgress(c)
	return deps.Open(ctx, PackagesEnv(c, o), deps.Params{
		Space:    o.Space,
		Progress: bar.event,
		Done:     bar.clear,
		Look:     o.Look,
		Expect:   o.Expect,
	})
}

// ChangePackages runs change, adapts the entries of items to the installed bundles,
// and prints the result.
func ChangePackages(
	ctx context.Context,
	c *cli.Call,
	o *PackageOptions,
	change func(x *deps.Packages) (*packages.Result, error),
) error {
	e := PackagesEnv(c, o)
	follow := func(ctx context.Context, x *deps.Packages, r *packages.Result) error {
		return relock.FollowBundles(ctx, e, x, r)
	}
	return changeAnd(ctx, c, o, follow, change)
}

// ChangeAndLock is changePackages that records all items of the project in the
// lock, so that it is complete.
func ChangeAndLock(
	ctx context.Context,
	c *cli.Call,
	o *PackageOptions,
	change func(x *deps.Packages) (*packages.Result, error),
) error {
	e := PackagesEnv(c, o)
	follow := func(ctx context.Context, x *deps.Packages, r *packages.Result) error {
		return relock.LockItems(ctx, e, x, r)
	}
	return changeAnd(ctx, c, o, follow, change)
}

func changeAnd(ctx context.Context, c *cli.Call, o *PackageOptions, follow func(context.Context, *deps.Packages, *packages.Result) error,
	change func(x *deps.Packages) (*packages.Result, error)) error {
	x, err := OpenPackages(ctx, c, o)
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
	return c.UI.Show(r, func() {
		view.Changes(c.UI, r)
	})
}

// ParseQuery reads SOURCE[@VERSION] with the default registry filled in.
func ParseQuery(c *cli.Call, word string) (packages.Query, error) {
	full, err := deps.FullRegistryID(Of(c), word)
	if err != nil {
		return packages.Query{}, err
	}
	return packages.ParseQuery(full)
}
