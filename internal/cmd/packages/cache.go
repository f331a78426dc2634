package packages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
)

// vendorOptions are the flags of rye vendor.
type vendorOptions struct {
	env.PackageOptions
	off bool
}

func VendorCommand() *cli.Command {
	var o vendorOptions
	return &cli.Command{
		Name:  "vendor",
		Group: env.PackagesGroup,
		Usage: "commit installed bundles with the project",
		Long: `Writes vendor: true into rye.yaml, installs the locked bundles, and removes the line
of installed bundles from .gitignore. Vendored bundles are verified like all others.
--off reverts this.`,
		Examples: []string{"rye vendor", "rye vendor --off"},
		Codes:    env.PackageCodes(diag.LockMissing, diag.ValidationFailed),
		Flags:    env.PackageFlags(&o.PackageOptions, cli.Bool(&o.off, "off", "keep installed bundles out of git again")),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runVendor(ctx, c, &o)
		},
	}
}

func runVendor(ctx context.Context, c *cli.Call, o *vendorOptions) error {
	return env.ChangePackages(ctx, c, &o.PackageOptions, func(x *deps.Packages) (*packages.Result, error) {
		r, err := x.Vendor(
			ctx,
			!o.off,
			ask.ConfirmChanges(c, x, false, "locking"),
		)
		if err != nil {
			return nil, err
		}
		if o.off {
			return r, x.IgnoreInstalled()
		}
		return r, removeLine(x.Base, ".gitignore", deps.BundlesIgnored)
	})
}

// removeLine removes a line from a file of a project. A missing file is not an error.
func removeLine(dir, name, line string) error {
	file := filepath.Join(dir, name)
	b, err := openat.ReadRegular(file, openat.MaxText)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading %s: %w", file, err)
	}
	var out []byte
	for l := range bytes.Lines(b) {
		if strings.TrimRight(string(l), "\r\n") != line {
			out = append(out, l...)
		}
	}
	if bytes.Equal(out, b) {
		return nil
	}
	return atomicfile.Project(dir).Write(name, out, 0)
}

func CacheCommand() *cli.Command {
	return &cli.Command{
		Name:  "cache",
		Group: env.PackagesGroup,
		Usage: "show, clean and verify the cache of fetched bundles",
		Subs:  []*cli.Command{cacheInfoCommand(), cacheGCCommand(), cacheVerifyCommand()},
	}
}

func cacheInfoCommand() *cli.Command {
	return &cli.Command{
		Name:     "info",
		Usage:    "show the directory of the cache and its size",
		Examples: []string{"rye cache info"},
		Codes:    []diag.Code{diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			cache, err := deps.SourceCache(env.Of(c))
			if err != nil {
				return err
			}
			in, err := cache.Info(ctx)
			if err != nil {
				return err
			}
			return c.UI.Show(in, func() {
				t := cli.NewTable("cache")
				t.Add("directory", in.Dir)
				t.Add("bundles", fmt.Sprintf("%d, %s", in.Snapshots, bytesText(in.SnapshotBytes)))
				t.Add("remotes", fmt.Sprintf("%d, %s", in.Remotes, bytesText(in.RemoteBytes)))
				t.Add("Python packages", fmt.Sprintf("%d, %s", in.Wheels, bytesText(in.WheelBytes)))
				t.Add("other", bytesText(in.OtherBytes))
				c.UI.Table(t)
			})
		},
	}
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// cacheGCOptions are the flags of rye cache gc.
type cacheGCOptions struct {
	unused      time.Duration
	all, dryRun bool
}

func cacheGCCommand() *cli.Command {
	var o cacheGCOptions
	return &cli.Command{
		Name:  "gc",
		Usage: "remove cached bundles and packages that were not used for long",
		Long: `rye fetches a removed bundle again when it needs it, if its remote still has it. rye sync
fetches removed packages of Python tools.`,
		Examples: []string{"rye cache gc", "rye cache gc --all --dry-run"},
		Codes:    []diag.Code{diag.FileSystemError},
		Flags: []cli.Flag{
			cli.Duration(&o.unused, "unused", "remove what was not used for `DURATION` (default 720h)"),
			cli.Bool(&o.all, "all", "remove everything"),
			cli.Bool(&o.dryRun, "dry-run", "show what would be removed and change nothing"),
		},
		Exclusive: [][]any{{&o.unused, &o.all}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runCacheGC(ctx, c, &o)
		},
	}
}

func runCacheGC(ctx context.Context, c *cli.Call, o *cacheGCOptions) error {
	cache, err := deps.SourceCache(env.Of(c))
	if err != nil {
		return err
	}
	p := source.GCParams{Unused: o.unused, DryRun: o.dryRun}
	if o.all {
		p.Unused = -1
	}
	freed, err := cache.GC(ctx, p)
	if err != nil {
		return err
	}
	return c.UI.Show(freed, func() {
		verb := cli.Pick(p.DryRun, "would free", "freed")
		c.UI.Out(
			"%s %s: %s, %s, %s",
			verb,
			bytesText(freed.Bytes),
			cli.Plural(freed.Snapshots, "bundle"),
			cli.Plural(freed.Remotes, "remote"),
			cli.Plural(freed.Wheels, "Python package"),
		)
	})
}

// cacheVerifyOptions are the flags of rye cache verify.
type cacheVerifyOptions struct{ repair bool }

func cacheVerifyCommand() *cli.Command {
	var o cacheVerifyOptions
	return &cli.Command{
		Name:     "verify",
		Usage:    "check the hashes of all cached bundles",
		Examples: []string{"rye cache verify", "rye cache verify --repair"},
		Codes:    []diag.Code{diag.HashMismatch, diag.FileSystemError},
		Flags:    []cli.Flag{cli.Bool(&o.repair, "repair", "remove damaged bundles; rye fetches them again when needed")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runCacheVerify(ctx, c, &o)
		},
	}
}

func runCacheVerify(ctx context.Context, c *cli.Call, o *cacheVerifyOptions) error {
	cache, err := deps.SourceCache(env.Of(c))
	if err != nil {
		return err
	}
	got, err := cache.Verify(ctx, o.repair)
	if err != nil {
		return err
	}
	got.Findings = slices.Concat([]diag.Finding{}, got.Findings)
	return c.UI.Report(diag.FromFindings("verifying the cache", got.Findings), got, got.Findings, func() {
		for _, f := range got.Findings {
			c.UI.Finding(f)
		}
		c.UI.Out("%s verified, %d broken", cli.Plural(got.Snapshots, "bundle"), len(got.Findings))
	})
}
