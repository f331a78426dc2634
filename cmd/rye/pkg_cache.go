package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
)

func vendorCommand() *command {
	return &command{
		name: "vendor", group: packagesGroup,
		usage: "commit installed bundles with the project",
		long: `Writes vendor: true into rye.yaml, installs what is locked and takes the line that
keeps installed bundles out of git from .gitignore. Vendored bundles are verified
like all others. --off goes back.`,
		examples: []string{"rye vendor", "rye vendor --off"},
		codes:    refusals(diag.LockMissing, diag.ValidationFailed),
		flags:    packageFlags(&cli.BoolFlag{Name: "off", Usage: "keep installed bundles out of git again"}),
		run:      runVendor,
	}
}

func runVendor(ctx context.Context, c *call) error {
	return c.changing(ctx, func(x *engine) (*packages.Result, error) {
		r, err := x.Vendor(ctx, !c.bool("off"))
		if err != nil {
			return nil, err
		}
		if c.bool("off") {
			return r, x.keepOut()
		}
		return r, dropLine(filepath.Join(x.base, ".gitignore"), bundlesIgnored)
	})
}

// dropLine removes a line from a file that may not exist.
func dropLine(file, line string) error {
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
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
	return atomicfile.Write(file, out, 0)
}

func cacheCommand() *command {
	return &command{
		name: "cache", group: packagesGroup,
		usage: "measure, clean and verify what was fetched",
		subs:  []*command{cacheInfoCommand(), cacheGCCommand(), cacheVerifyCommand()},
	}
}

// fetched returns the cache without a project.
func (c *call) fetched() (*source.Cache, error) { return c.sourceCache(&house{dirs: c.userDirs()}) }

func cacheInfoCommand() *command {
	return &command{
		name: "info", usage: "show where the cache is and what it holds",
		examples: []string{"rye cache info"},
		codes:    []diag.Code{diag.FileSystemError},
		run: func(ctx context.Context, c *call) error {
			cache, err := c.fetched()
			if err != nil {
				return err
			}
			in, err := cache.Info(ctx)
			if err != nil {
				return err
			}
			return c.ui.Show(in, func() {
				t := &table{}
				t.add("folder", in.Dir)
				t.add("bundles", fmt.Sprintf("%d, %s", in.Snapshots, bytesText(in.SnapshotBytes)))
				t.add("remotes", fmt.Sprintf("%d, %s", in.Remotes, bytesText(in.RemoteBytes)))
				t.add("other", bytesText(in.OtherBytes))
				c.ui.Table(t)
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

func cacheGCCommand() *command {
	return &command{
		name: "gc", usage: "remove what nobody used for long",
		long:     `Everything in the cache can be fetched again, as long as its remote has it.`,
		examples: []string{"rye cache gc", "rye cache gc --all --dry-run"},
		codes:    []diag.Code{diag.FileSystemError},
		flags: []cli.Flag{
			&cli.DurationFlag{Name: "unused", Usage: "remove what was not used for `DURATION` (default 720h)"},
			&cli.BoolFlag{Name: "all", Usage: "remove everything"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would go"},
		},
		run: runCacheGC,
	}
}

func runCacheGC(ctx context.Context, c *call) error {
	cache, err := c.fetched()
	if err != nil {
		return err
	}
	p := source.GCParams{Unused: c.duration("unused"), DryRun: c.bool("dry-run")}
	if c.bool("all") {
		p.Unused = -1
	}
	freed, err := cache.GC(ctx, p)
	if err != nil {
		return err
	}
	return c.ui.Show(freed, func() {
		verb := pick(p.DryRun, "would free", "freed")
		c.ui.Out("%s %s: %s, %s", verb, bytesText(freed.Bytes), plural(freed.Snapshots, "bundle"), plural(freed.Remotes, "remote"))
	})
}

func cacheVerifyCommand() *command {
	return &command{
		name: "verify", usage: "hash everything that was fetched",
		examples: []string{"rye cache verify", "rye cache verify --repair"},
		codes:    []diag.Code{diag.HashMismatch, diag.FileSystemError},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "repair", Usage: "remove what is broken, so that it is fetched again"}},
		run:      runCacheVerify,
	}
}

func runCacheVerify(ctx context.Context, c *call) error {
	cache, err := c.fetched()
	if err != nil {
		return err
	}
	got, err := cache.Verify(ctx, c.bool("repair"))
	if err != nil {
		return err
	}
	got.Findings = slices.Concat([]diag.Finding{}, got.Findings)
	return c.ui.report(diag.FromFindings("verifying the cache", got.Findings), got, got.Findings, func() {
		for _, f := range got.Findings {
			c.ui.finding(f)
		}
		c.ui.Out("%s verified, %d broken", plural(got.Snapshots, "bundle"), len(got.Findings))
	})
}
