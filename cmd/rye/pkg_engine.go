package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/packages/source/git"
	"github.com/ryeos/rye/resolve/space"
)

const packagesGroup = "Packages"

// packageFlags are the flags of every verb that works on the bundles of a
// space, with more of its own.
func packageFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		&cli.StringFlag{Name: "space", Usage: "work on the bundles of `SPACE`: project, user or system", Value: string(space.Project)},
		&cli.BoolFlag{Name: "locked", Usage: "refuse whatever would change rye.lock (the default in CI for lock and sync)"},
	)
}

// refusals are the codes with which bundles are refused.
func refusals(more ...diag.Code) []diag.Code {
	return append(more, diag.LockStale, diag.SourceNotFound, diag.VersionNotFound, diag.Unresolvable,
		diag.LockMismatch, diag.HashMismatch, diag.TagMoved, diag.ImpostorCommit, diag.SumConflict, diag.LockRepointed,
		diag.Unsigned, diag.KeyUnknown, diag.SignerChanged, diag.Threshold, diag.PolicyDenied, diag.Cooldown, diag.Network, diag.AuthRequired)
}

// engine is what the verbs about bundles work with.
type engine struct {
	*packages.Engine
	house *house
	cache *source.Cache
	base  string
	files string
	space space.Name
	bar   *progress
}

// engine builds the engine of the space that --space names. Done must follow.
func (c *call) engine(ctx context.Context) (*engine, error) {
	debug.SetGCPercent(400) // a verb is over before collecting would pay
	h, err := c.house(ctx, lenient)
	if err != nil {
		return nil, err
	}
	x := &engine{house: h, space: space.Name(cmp.Or(c.str("space"), string(space.Project)))}
	if x.base, x.files, err = c.packageFolders(h, x.space); err != nil {
		return nil, err
	}
	if x.space == space.Project {
		if err := c.notLeftOut(ctx, h); err != nil {
			return nil, err
		}
	}
	if x.cache, err = c.sourceCache(h); err != nil {
		return nil, err
	}
	rule, sealed := x.rules().Offline()
	src, err := c.sources(x, sealed || c.bool("offline"))
	if err != nil {
		return nil, err
	}
	if sealed {
		src = packages.Sealed(src, rule)
	}
	x.bar = c.newProgress()
	p := packages.Params{
		Base: x.base, Files: x.files, Space: string(x.space), Source: src, Cache: x.cache, Trust: h.trust, Rules: h.rules,
		Caps: c.bundleCaps(h), System: h.system(), Locked: c.bool("locked"), Offline: sealed || c.bool("offline"), Now: c.Now, Progress: x.bar.event,
	}
	if x.space == space.Project {
		p.Revoked = h.revoked()
	}
	if h.dirs.State != "" {
		p.Seen = filepath.Join(h.dirs.State, "bundles-seen.json")
	}
	x.Engine = packages.New(p)
	return x, nil
}

// rules returns what is refused in the space. What is wrong with its own file is
// told by whoever needs it.
func (x *engine) rules() packages.Rules {
	m, _ := readManifest(x.files)
	return withManifest(x.house.rules, m)
}

// done takes the progress bar away.
func (x *engine) done() { x.bar.clear() }

// packageFolders returns the folder that holds .ai of a space, and the one that
// holds its files: beside .ai in a project, inside it elsewhere.
func (c *call) packageFolders(h *house, s space.Name) (base, files string, err error) {
	switch s {
	case space.Project:
		root, err := h.needProject()
		if err != nil {
			return "", "", err
		}
		return root.Base, root.Base, nil
	case space.User:
		base = h.spaces.UserDir
	case space.System:
		base = c.Getenv("RYE_SYSTEM_SPACE")
		if base == "" {
			return "", "", diag.New(diag.Usage, "finding the system space: RYE_SYSTEM_SPACE names no folder").
				WithHint("set RYE_SYSTEM_SPACE to the folder that holds the machine's .ai, or write --space user")
		}
	default:
		return "", "", diag.New(diag.Usage, "finding the space %q: there is none of that name", s).WithHint("write project, user or system")
	}
	if !filepath.IsAbs(base) {
		return "", "", diag.New(diag.Usage, "finding the %s space: its folder is unknown", s)
	}
	files = filepath.Join(base, space.Dir)
	if err := os.MkdirAll(files, 0o755); err != nil {
		return "", "", diag.New(diag.FileSystemError, "making the %s space: %w", s, err)
	}
	return base, files, nil
}

// sourceCache returns the cache of what was fetched.
func (c *call) sourceCache(h *house) (*source.Cache, error) {
	dir := c.cacheDir(h.dirs)
	if dir == "" {
		return nil, diag.New(diag.FileSystemError, "finding the cache: there is no folder for it").WithHint("RYE_CACHE names one")
	}
	return source.NewCache(dir, c.Now), nil
}

// sources is the table of where bundles come from.
func (c *call) sources(x *engine, offline bool) (source.Source, error) {
	remoteGit, err := git.New(git.Params{
		Cache: x.cache, Environ: c.Environ(), Transport: c.Getenv("RYE_GIT"), Offline: offline,
		Interactive: !c.ui.json && c.Isatty(c.Stdin) && c.Isatty(c.Stderr),
	})
	if err != nil {
		return nil, err
	}
	remote := source.Retry(remoteGit, source.RetryParams{})
	return source.Multi{lock.HostID: remote, lock.URLID: remote, lock.PathID: source.Dir{Base: x.files, Cache: x.cache}}, nil
}

// inCI reports whether the call runs in CI, where nothing changes a lock
// unasked.
func (c *call) inCI() bool {
	switch c.Getenv("CI") {
	case "", "0", "false":
		return false
	}
	return true
}

// keepOut keeps installed bundles out of git, and lets branches add to rye.sum
// without a conflict, in a project that git looks after.
func (x *engine) keepOut() error {
	vendored, err := x.Vendored()
	if err != nil || x.space != space.Project {
		return err
	}
	ignore := filepath.Join(x.base, ".gitignore")
	if !there(ignore) && !there(filepath.Join(x.base, ".git")) {
		return nil
	}
	for file, lines := range map[string][]string{
		ignore:                                  {bundlesIgnored},
		filepath.Join(x.base, ".gitattributes"): {"rye.sum merge=union -text"},
	} {
		if vendored && file == ignore {
			continue
		}
		if _, err := addLines(file, lines); err != nil {
			return diag.New(diag.FileSystemError, "writing %s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// bundlesIgnored is the line of .gitignore for installed bundles: no other
// folder there has an @ in its name.
const bundlesIgnored = space.Dir + "/bundles/**/*@*/"

func there(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}
