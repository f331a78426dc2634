package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
)

func addCommand() *cli.Command {
	return &cli.Command{
		Name: "add", Group: packagesGroup,
		Usage: "require bundles, lock and install them", Args: "SOURCE[@VERSION]…",
		Long: `SOURCE is a host path (github.com/acme/tools, git.host/repo//folder), a git URL or
a folder (./tools). Without a version the newest release is taken; a commit works
too. ITEM@SOURCE takes single items: the rest of the bundle stays out of sight.
Only rye.yaml's own lines change; versions are the least that everybody who
requires a bundle can live with. A bundle is installed when its manifest is signed
by a key that you let release, and every file is as it says. Nothing of a bundle
runs. Several sources are one change: all of them or none. When a bundle that is
there already is raised by it and may do more than before, that needs a yes.`,
		Examples: []string{
			"rye add github.com/acme/tools",
			"rye add github.com/acme/tools@v1.4.0 git.acme.io/sec/redact//bundles/pii",
			"rye add tool:gh/issue@github.com/acme/tools",
			"rye add github.com/lab/x --space user",
		},
		Codes: refusals(diag.AmbiguousItem, diag.SourceMoved, diag.VersionMismatch, diag.ConsentRequired),
		Flags: packageFlags(&cli.BoolFlag{Name: "yes", Usage: "agree to what bundles that nobody named may do more than before"}),
		Run:   runAdd,
	}
}

func runAdd(ctx context.Context, c *cli.Call) error {
	var queries []packages.Query
	var errs []error
	for _, word := range c.Args {
		q, err := packages.ParseQuery(word)
		if err != nil {
			errs = append(errs, err)
		}
		queries = append(queries, q)
	}
	if err := diag.Join("reading arguments", errs); err != nil {
		return err
	}
	return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) {
		return x.Add(ctx, packages.AddParams{Queries: queries, Approve: approve(c, x, "adding")})
	})
}

// changing runs one change of the bundles and shows what came of it.
func changing(ctx context.Context, c *cli.Call, do func(x *project.Packages) (*packages.Result, error)) error {
	x, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	defer x.Close()
	r, err := do(x)
	if err == nil {
		err = envOf(c).FollowBundles(ctx, x, r)
	}
	x.Close()
	if err != nil {
		return err
	}
	if len(r.Installed) > 0 {
		if err := x.IgnoreInstalled(); err != nil {
			return err
		}
	}
	return c.UI.Show(r, func() { showChanges(c.UI, r) })
}

func removeCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Group: packagesGroup,
		Usage: "require bundles no longer", Args: "BUNDLE…",
		Long: `BUNDLE is an id in rye.yaml, or its end when only one ends so. What nothing else
needs leaves the lock and the space; rye.sum remembers it.`,
		Examples: []string{"rye remove github.com/acme/tools", "rye remove tools"},
		Codes:    refusals(diag.AmbiguousItem),
		Flags:    packageFlags(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) { return x.Remove(ctx, c.Args) })
		},
	}
}

func lockCommand() *cli.Command {
	return &cli.Command{
		Name: "lock", Group: packagesGroup,
		Usage: "compute rye.lock", Args: "",
		Long: `What is locked stays locked; what rye.yaml asks for beyond it is resolved, and each
remote is asked whether its tags still hold what was locked. The markers of a merge
are understood: both sides are resolved again. --check, the default where CI is
set, writes nothing, asks nobody and fails when the lock is not what rye.yaml asks
for.`,
		Examples: []string{"rye lock", "rye lock --check     # in CI"},
		Codes:    refusals(diag.LockMissing, diag.Drift),
		Flags:    packageFlags(&cli.BoolFlag{Name: "check", Usage: "write nothing; fail when the lock is missing or stale"}),
		Run:      runLock,
	}
}

func runLock(ctx context.Context, c *cli.Call) error {
	if !c.Bool("check") && !c.Bool("locked") && !envOf(c).InCI() {
		return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) {
			r, err := x.Lock(ctx)
			if err == nil {
				err = envOf(c).LockItems(ctx, x, r)
			}
			return r, err
		})
	}
	x, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	r, err := x.CheckLock(ctx)
	if err == nil {
		err = envOf(c).CheckItems(ctx, x)
	}
	if err != nil {
		return err
	}
	return c.UI.Show(r, func() { c.UI.Out("rye.lock is what rye.yaml asks for") })
}

func syncCommand() *cli.Command {
	return &cli.Command{
		Name: "sync", Group: packagesGroup,
		Usage: "make the installed bundles equal rye.lock",
		Long: `Missing and changed bundles are installed, from the cache or from where the lock
says, and others removed. A stale lock is computed again first, except with
--locked, the default in CI. --frozen takes the lock as it stands: it resolves
nothing and needs no network for what the cache holds.`,
		Examples: []string{"rye sync", "rye sync --frozen", "rye sync --locked     # in CI"},
		Codes:    refusals(diag.LockMissing),
		Flags:    packageFlags(&cli.BoolFlag{Name: "frozen", Usage: "install what is locked and resolve nothing"}),
		Run:      runSync,
	}
}

func runSync(ctx context.Context, c *cli.Call) error {
	return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) {
		if envOf(c).InCI() && !c.Bool("frozen") && !c.Bool("locked") {
			if _, err := x.CheckLock(ctx); err != nil {
				return nil, err
			}
		}
		return x.Sync(ctx, c.Bool("frozen"))
	})
}

func pruneCommand() *cli.Command {
	return &cli.Command{
		Name: "prune", Group: packagesGroup,
		Usage:    "remove installed bundles that rye.lock does not name",
		Examples: []string{"rye prune --dry-run"},
		Codes:    []diag.Code{diag.FileSystemError, diag.LockStale},
		Flags:    packageFlags(&cli.BoolFlag{Name: "dry-run", Usage: "say what would go"}),
		Run: func(ctx context.Context, c *cli.Call) error {
			return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) { return x.Prune(ctx, c.Bool("dry-run")) })
		},
	}
}
