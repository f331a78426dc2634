package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/source"
)

func vendorCommand() *cli.Command {
	return &cli.Command{
		Name: "vendor", Group: packagesGroup,
		Usage: "commit installed bundles with the project",
		Long: `Writes vendor: true into rye.yaml, installs what is locked and takes the line that
keeps installed bundles out of git from .gitignore. Vendored bundles are verified
like all others. --off goes back.`,
		Examples: []string{"rye vendor", "rye vendor --off"},
		Codes:    refusals(diag.LockMissing, diag.ValidationFailed),
		Flags:    packageFlags(&cli.BoolFlag{Name: "off", Usage: "keep installed bundles out of git again"}),
		Run:      runVendor,
	}
}

func runVendor(ctx context.Context, c *cli.Call) error {
	return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) {
		r, err := x.Vendor(ctx, !c.Bool("off"))
		if err != nil {
			return nil, err
		}
		if c.Bool("off") {
			return r, x.IgnoreInstalled()
		}
		return r, dropLine(filepath.Join(x.Base, ".gitignore"), project.BundlesIgnored)
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

func cacheCommand() *cli.Command {
	return &cli.Command{
		Name: "cache", Group: packagesGroup,
		Usage: "measure, clean and verify what was fetched",
		Subs:  []*cli.Command{cacheInfoCommand(), cacheGCCommand(), cacheVerifyCommand()},
	}
}

// fetched returns the cache without a project.
func fetched(c *cli.Call) (*source.Cache, error) {
	return envOf(c).SourceCache()
}

func cacheInfoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "show where the cache is and what it holds",
		Examples: []string{"rye cache info"},
		Codes:    []diag.Code{diag.FileSystemError},
		Run: func(ctx context.Context, c *cli.Call) error {
			cache, err := fetched(c)
			if err != nil {
				return err
			}
			in, err := cache.Info(ctx)
			if err != nil {
				return err
			}
			return c.UI.Show(in, func() {
				t := &cli.Table{}
				t.Add("folder", in.Dir)
				t.Add("bundles", fmt.Sprintf("%d, %s", in.Snapshots, bytesText(in.SnapshotBytes)))
				t.Add("remotes", fmt.Sprintf("%d, %s", in.Remotes, bytesText(in.RemoteBytes)))
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

func cacheGCCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "remove what nobody used for long",
		Long:     `Everything in the cache can be fetched again, as long as its remote has it.`,
		Examples: []string{"rye cache gc", "rye cache gc --all --dry-run"},
		Codes:    []diag.Code{diag.FileSystemError},
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "unused", Usage: "remove what was not used for `DURATION` (default 720h)"},
			&cli.BoolFlag{Name: "all", Usage: "remove everything"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would go"},
		},
		Run: runCacheGC,
	}
}

func runCacheGC(ctx context.Context, c *cli.Call) error {
	cache, err := fetched(c)
	if err != nil {
		return err
	}
	p := source.GCParams{Unused: c.Duration("unused"), DryRun: c.Bool("dry-run")}
	if c.Bool("all") {
		p.Unused = -1
	}
	freed, err := cache.GC(ctx, p)
	if err != nil {
		return err
	}
	return c.UI.Show(freed, func() {
		verb := pick(p.DryRun, "would free", "freed")
		c.UI.Out("%s %s: %s, %s", verb, bytesText(freed.Bytes), plural(freed.Snapshots, "bundle"), plural(freed.Remotes, "remote"))
	})
}

func cacheVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "hash everything that was fetched",
		Examples: []string{"rye cache verify", "rye cache verify --repair"},
		Codes:    []diag.Code{diag.HashMismatch, diag.FileSystemError},
		Flags:    []cli.Flag{&cli.BoolFlag{Name: "repair", Usage: "remove what is broken, so that it is fetched again"}},
		Run:      runCacheVerify,
	}
}

func runCacheVerify(ctx context.Context, c *cli.Call) error {
	cache, err := fetched(c)
	if err != nil {
		return err
	}
	got, err := cache.Verify(ctx, c.Bool("repair"))
	if err != nil {
		return err
	}
	got.Findings = slices.Concat([]diag.Finding{}, got.Findings)
	return c.UI.Report(diag.FromFindings("verifying the cache", got.Findings), got, got.Findings, func() {
		for _, f := range got.Findings {
			c.UI.Finding(f)
		}
		c.UI.Out("%s verified, %d broken", plural(got.Snapshots, "bundle"), len(got.Findings))
	})
}
