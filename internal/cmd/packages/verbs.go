package packages

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

// addOptions are the flags of rye add.
type addOptions struct {
	env.ConsentOptions
	adoptOptions
	trust string
}

func AddCommand() *cli.Command {
	var o addOptions
	return &cli.Command{
		Name:  "add",
		Group: env.PackagesGroup,
		Usage: "require bundles, lock and install them",
		Args:  "SOURCE[@VERSION]…",
		Long: `SOURCE is a host path (github.com/acme/tools, git.host/repo//folder), a git URL or
a folder (./tools), or a bundle of a registry that you pinned (registry:HOST/NS/NAME,
registry:NS/NAME for the default one). VERSION is a version or a commit; the default is the newest
release. ITEM@SOURCE requires single items of a bundle; its other items are not
visible. rye selects the lowest version that satisfies every requirement (minimal
version selection).

A bundle is installed if a key that you permit to release has signed its manifest and
every file matches the manifest. If you do not trust the signer yet, rye shows its
fingerprint and what the bundle brings, and asks; without a terminal it needs --trust.
Nothing of a bundle is started. Either all sources
are added or none. rye asks first, or needs --yes without a terminal, if an item would
be used instead of one of your user space or of the system, and if an installed bundle
gets new tools, directives or permissions. Items below rye/ and settings of the system
are used only where prefer of rye.yaml names the bundle.

A repository without a manifest, such as one with skills, is shown and reviewed: the
review, signed with your key, states that you accept exactly these files of one commit.
It is committed in .ai/adopted. KIND:NAME@SOURCE and --select choose components, and are
needed for more than 20. --yes never reviews.`,
		Examples: []string{
			"rye add github.com/acme/tools",
			"rye add github.com/acme/tools@v1.4.0 git.acme.io/sec/redact//bundles/pii",
			"rye add tool:gh/issue@github.com/acme/tools",
			"rye add github.com/lab/x --space user",
			"rye add registry:rye.acme.io/acme.io/tools",
			"rye add github.com/acme/tools --trust FINGERPRINT",
			"rye add skill:pdf@github.com/acme/skills",
		},
		Codes: env.PackageCodes(
			diag.AmbiguousItem,
			diag.SourceMoved,
			diag.VersionMismatch,
			diag.ConsentRequired,
			diag.LogProof,
			diag.LogEquivocation,
			diag.Rollback,
		),
		Flags: env.ConsentFlags(
			&o.ConsentOptions,
			cli.String(&o.trust, "trust", "trust an unknown signer that has this whole `FINGERPRINT`"),
			cli.Strings(&o.selected, "select", "components `KIND:PATTERN` of a source without a manifest (repeatable)"),
			cli.Bool(&o.all, "all", "all components of a source without a manifest"),
			cli.String(&o.commit, "adopt", "review exactly this whole `COMMIT` without a terminal"),
		),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAdd(ctx, c, &o)
		},
	}
}

func runAdd(ctx context.Context, c *cli.Call, o *addOptions) error {
	var queries []packages.Query
	var errs []error
	for _, word := range c.Args {
		q, err := env.ParseQuery(c, word)
		if err != nil {
			errs = append(errs, err)
		}
		queries = append(queries, q)
	}
	if err := diag.Join("reading arguments", errs); err != nil {
		return err
	}
	if o.adopts(queries) {
		return runAdopt(ctx, c, o, queries)
	}
	o.Expect = map[lock.Module]item.Digest{}
	for {
		err := env.ChangeAndLock(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
			return x.Add(ctx, packages.AddParams{Queries: queries, Approve: ask.ConfirmChanges(c, x, o.Yes, "adding")})
		})
		if withoutManifest(err) && len(queries) == 1 {
			return runAdopt(ctx, c, o, queries)
		}
		m, unknown := unknownSigner(err)
		if _, asked := o.Expect[m]; !unknown || asked {
			return err
		}
		// The release that was shown is the one that is added: its manifest must be
		// the same when the sources are read again.
		in, err := firstContact(ctx, c, o, m, err)
		if err != nil {
			return err
		}
		o.Expect[m] = in.Manifest
	}
}

func RemoveCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "remove",
		Group: env.PackagesGroup,
		Usage: "remove bundles from the requirements",
		Args:  "BUNDLE…",
		Long: `BUNDLE is an id in rye.yaml, or its end if only one id ends with it. Bundles that no
other bundle requires leave rye.lock and the space; rye.sum keeps their digests.`,
		Examples: []string{"rye remove github.com/acme/tools", "rye remove tools"},
		Codes:    env.PackageCodes(diag.AmbiguousItem),
		Flags:    env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return env.ChangeAndLock(ctx, c, &o, func(x *deps.Packages) (*packages.Result, error) {
				return removeAll(ctx, c, x, &o)
			})
		},
	}
}

// removeAll removes requirements, and the reviews of sources that are not used any more.
func removeAll(
	ctx context.Context,
	c *cli.Call,
	x *deps.Packages,
	o *env.PackageOptions,
) (*packages.Result, error) {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	r, err := x.Remove(ctx, c.Args)
	if err == nil && h.Lock != nil && o.Space == space.Project {
		err = engineOf(h, x, o.Locked).Forget(h.Lock.Lock)
	}
	return r, err
}

// lockOptions are the flags of rye lock.
type lockOptions struct {
	env.ConsentOptions
	check bool
}

func LockCommand() *cli.Command {
	var o lockOptions
	return &cli.Command{
		Name:  "lock",
		Group: env.PackagesGroup,
		Usage: "compute rye.lock",
		Args:  "",
		Long: `Locked versions stay locked. New requirements of rye.yaml are resolved, and each
remote is asked whether its tags still name the locked commits. If rye.lock has merge
conflict markers, both sides are resolved again. A release that was not locked before
is shown and may need your yes, as in rye update. The packages that Python tools list
(# /// script) are resolved with uv and fetched.

--check is the default if CI is set. It changes nothing, uses no network, and fails if
rye.lock does not match rye.yaml.`,
		Examples: []string{"rye lock", "rye lock --check     # in CI"},
		Codes:    env.PackageCodes(diag.LockMissing, diag.Drift, diag.ConsentRequired),
		Flags:    env.ConsentFlags(&o.ConsentOptions, cli.Bool(&o.check, "check", "change nothing; fail if the lock is missing or stale")),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runLock(ctx, c, &o)
		},
	}
}

func runLock(ctx context.Context, c *cli.Call, o *lockOptions) error {
	e := env.PackagesEnv(c, &o.PackageOptions)
	if !o.check && !e.KeepsLock() {
		return env.ChangeAndLock(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
			if err := relock.RefuseRevived(ctx, x); err != nil {
				return nil, err
			}
			return x.Lock(ctx, ask.ConfirmChanges(c, x, o.Yes, "locking"))
		})
	}
	x, err := env.OpenPackages(ctx, c, &o.PackageOptions)
	if err != nil {
		return err
	}
	r, err := x.CheckLock(ctx)
	if err == nil {
		err = relock.CheckItems(ctx, e, x)
	}
	if err == nil {
		err = relock.RefuseRevived(ctx, x)
	}
	if err != nil {
		return err
	}
	return c.UI.Show(r, func() { c.UI.Out("rye.lock is up to date") })
}

// syncOptions are the flags of rye sync.
type syncOptions struct {
	env.ConsentOptions
	frozen bool
}

func SyncCommand() *cli.Command {
	var o syncOptions
	return &cli.Command{
		Name:  "sync",
		Group: env.PackagesGroup,
		Usage: "make the installed bundles equal rye.lock",
		Long: `Installs missing and changed bundles, from the cache or from their locked address,
and removes others. Fetches the locked packages of Python tools (# /// script). A stale lock is computed again first, except with --locked,
which is the default in CI. --frozen uses rye.lock as it is: it resolves nothing and
needs the network only for bundles that are not in the cache.`,
		Examples: []string{"rye sync", "rye sync --frozen", "rye sync --locked     # in CI"},
		Codes:    env.PackageCodes(diag.LockMissing, diag.ConsentRequired),
		Flags:    env.ConsentFlags(&o.ConsentOptions, cli.Bool(&o.frozen, "frozen", "install the locked bundles and resolve nothing")),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSync(ctx, c, &o)
		},
	}
}

func runSync(ctx context.Context, c *cli.Call, o *syncOptions) error {
	return env.ChangePackages(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
		e := env.PackagesEnv(c, &o.PackageOptions)
		if e.KeepsLock() && !o.frozen && !o.Locked {
			if _, err := x.CheckLock(ctx); err != nil {
				return nil, err
			}
		}
		r, err := x.Sync(ctx, o.frozen, ask.ConfirmChanges(c, x, o.Yes, "locking"))
		if err == nil {
			err = syncAdopted(ctx, c, x, &o.PackageOptions, r)
		}
		if err == nil {
			err = syncWheels(ctx, c, &o.PackageOptions)
		}
		return r, err
	})
}

// syncAdopted installs the locked sources without a manifest.
func syncAdopted(
	ctx context.Context,
	c *cli.Call,
	x *deps.Packages,
	o *env.PackageOptions,
	r *packages.Result,
) error {
	if o.Space != space.Project {
		return nil
	}
	h, err := env.PackagesEnv(c, o).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	installed, err := engineOf(h, x, o.Locked).Sync(ctx)
	r.Installed = append(r.Installed, installed...)
	return err
}

// syncWheels fetches the locked packages of the project's Python tools.
func syncWheels(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	if o.Space != "project" {
		return nil
	}
	h, err := env.PackagesEnv(c, o).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	n, err := deps.SyncWheels(ctx, h)
	if n > 0 {
		c.UI.Note("fetched %s of Python tools", cli.Plural(n, "package"))
	}
	return err
}

// pruneOptions are the flags of rye prune.
type pruneOptions struct {
	env.PackageOptions
	dryRun bool
}

func PruneCommand() *cli.Command {
	var o pruneOptions
	return &cli.Command{
		Name:     "prune",
		Group:    env.PackagesGroup,
		Usage:    "remove installed bundles that are not in rye.lock",
		Examples: []string{"rye prune --dry-run"},
		Codes:    []diag.Code{diag.FileSystemError, diag.LockStale},
		Flags:    env.PackageFlags(&o.PackageOptions, cli.Bool(&o.dryRun, "dry-run", "show what would be removed and change nothing")),
		Run: func(ctx context.Context, c *cli.Call) error {
			return env.ChangePackages(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
				return x.Prune(ctx, o.dryRun)
			})
		},
	}
}
