package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages"
)

func addCommand() *command {
	return &command{
		name: "add", group: packagesGroup,
		usage: "require bundles, lock and install them", args: "SOURCE[@VERSION]…",
		long: `SOURCE is a host path (github.com/acme/tools, git.host/repo//folder), a git URL or
a folder (./tools). Without a version the newest release is taken; a commit works
too. ITEM@SOURCE takes single items: the rest of the bundle stays out of sight.
Only rye.yaml's own lines change; versions are the least that everybody who
requires a bundle can live with. A bundle is installed when its manifest is signed
by a key that you let release, and every file is as it says. Nothing of a bundle
runs. Several sources are one change: all of them or none. When a bundle that is
there already is raised by it and may do more than before, that needs a yes.`,
		examples: []string{
			"rye add github.com/acme/tools",
			"rye add github.com/acme/tools@v1.4.0 git.acme.io/sec/redact//bundles/pii",
			"rye add tool:gh/issue@github.com/acme/tools",
			"rye add github.com/lab/x --space user",
		},
		codes: refusals(diag.AmbiguousItem, diag.SourceMoved, diag.VersionMismatch, diag.ConsentRequired),
		flags: packageFlags(&cli.BoolFlag{Name: "yes", Usage: "agree to what bundles that nobody named may do more than before"}),
		run:   runAdd,
	}
}

func runAdd(ctx context.Context, c *call) error {
	var queries []packages.Query
	var errs []error
	for _, word := range c.args {
		q, err := packages.ParseQuery(word)
		if err != nil {
			errs = append(errs, err)
		}
		queries = append(queries, q)
	}
	if err := diag.Join("reading arguments", errs); err != nil {
		return err
	}
	return c.changing(ctx, func(x *engine) (*packages.Result, error) {
		return x.Add(ctx, packages.AddParams{Queries: queries, Approve: c.approve(x, "adding")})
	})
}

// changing runs one change of the bundles and shows what came of it.
func (c *call) changing(ctx context.Context, do func(x *engine) (*packages.Result, error)) error {
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	defer x.done()
	r, err := do(x)
	if err == nil {
		err = c.followBundles(ctx, x, r)
	}
	x.done()
	if err != nil {
		return err
	}
	if len(r.Installed) > 0 {
		if err := x.keepOut(); err != nil {
			return err
		}
	}
	return c.ui.Show(r, func() { c.ui.changes(r) })
}

func removeCommand() *command {
	return &command{
		name: "remove", group: packagesGroup,
		usage: "require bundles no longer", args: "BUNDLE…",
		long: `BUNDLE is an id in rye.yaml, or its end when only one ends so. What nothing else
needs leaves the lock and the space; rye.sum remembers it.`,
		examples: []string{"rye remove github.com/acme/tools", "rye remove tools"},
		codes:    refusals(diag.AmbiguousItem),
		flags:    packageFlags(),
		run: func(ctx context.Context, c *call) error {
			return c.changing(ctx, func(x *engine) (*packages.Result, error) { return x.Remove(ctx, c.args) })
		},
	}
}

func lockCommand() *command {
	return &command{
		name: "lock", group: packagesGroup,
		usage: "compute rye.lock", args: "",
		long: `What is locked stays locked; what rye.yaml asks for beyond it is resolved, and each
remote is asked whether its tags still hold what was locked. The markers of a merge
are understood: both sides are resolved again. --check, the default where CI is
set, writes nothing, asks nobody and fails when the lock is not what rye.yaml asks
for.`,
		examples: []string{"rye lock", "rye lock --check     # in CI"},
		codes:    refusals(diag.LockMissing, diag.Drift),
		flags:    packageFlags(&cli.BoolFlag{Name: "check", Usage: "write nothing; fail when the lock is missing or stale"}),
		run:      runLock,
	}
}

func runLock(ctx context.Context, c *call) error {
	if !c.bool("check") && !c.bool("locked") && !c.inCI() {
		return c.changing(ctx, func(x *engine) (*packages.Result, error) {
			r, err := x.Lock(ctx)
			if err == nil {
				err = c.lockItems(ctx, x, r)
			}
			return r, err
		})
	}
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	r, err := x.CheckLock(ctx)
	if err == nil {
		err = c.checkItems(ctx, x)
	}
	if err != nil {
		return err
	}
	return c.ui.Show(r, func() { c.ui.Out("rye.lock is what rye.yaml asks for") })
}

func syncCommand() *command {
	return &command{
		name: "sync", group: packagesGroup,
		usage: "make the installed bundles equal rye.lock",
		long: `Missing and changed bundles are installed, from the cache or from where the lock
says, and others removed. A stale lock is computed again first, except with
--locked, the default in CI. --frozen takes the lock as it stands: it resolves
nothing and needs no network for what the cache holds.`,
		examples: []string{"rye sync", "rye sync --frozen", "rye sync --locked     # in CI"},
		codes:    refusals(diag.LockMissing),
		flags:    packageFlags(&cli.BoolFlag{Name: "frozen", Usage: "install what is locked and resolve nothing"}),
		run:      runSync,
	}
}

func runSync(ctx context.Context, c *call) error {
	return c.changing(ctx, func(x *engine) (*packages.Result, error) {
		if c.inCI() && !c.bool("frozen") && !c.bool("locked") {
			if _, err := x.CheckLock(ctx); err != nil {
				return nil, err
			}
		}
		return x.Sync(ctx, c.bool("frozen"))
	})
}

func pruneCommand() *command {
	return &command{
		name: "prune", group: packagesGroup,
		usage:    "remove installed bundles that rye.lock does not name",
		examples: []string{"rye prune --dry-run"},
		codes:    []diag.Code{diag.FileSystemError, diag.LockStale},
		flags:    packageFlags(&cli.BoolFlag{Name: "dry-run", Usage: "say what would go"}),
		run: func(ctx context.Context, c *call) error {
			return c.changing(ctx, func(x *engine) (*packages.Result, error) { return x.Prune(ctx, c.bool("dry-run")) })
		},
	}
}
