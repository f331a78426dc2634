package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
)

func registrySearchCommand() *cli.Command {
	var host string
	limit := 20
	return &cli.Command{
		Name:  "search",
		Usage: "search the bundles of registries",
		Args:  "QUERY…",
		Long: `Searches the default registry, or all that you pinned. The list of bundles is fetched and
searched on this computer: the query does not leave it. A description is shown after rye
registry pull or rye add verified its signature; nothing else in the result is verified.`,
		Examples: []string{"rye registry search issue tracker", "rye registry search pdf --registry rye.acme.io"},
		Codes:    env.RegistryCodes(),
		Flags: []cli.Flag{
			cli.String(&host, "registry", "search only the registry at `HOST`"),
			cli.Int(&limit, "limit", "print at most this `NUMBER` of bundles (default 20)"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			hits, err := items.Search(ctx, h, items.Searched{
				Hosts: items.Hosts(h, host),
				Query: search.Query{Text: strings.Join(c.Args, " "), Limit: max(1, limit)},
			})
			if err != nil {
				return err
			}
			return c.UI.Show(hits, func() { showRegistryHits(c.UI, hits) })
		},
	}
}

func showRegistryHits(u *cli.UI, hits *items.Hits) {
	if hits.Note != "" {
		u.Note("%s", hits.Note)
	}
	for _, x := range hits.Hits {
		u.Out("%s", strings.TrimRight(
			x.ID+" "+x.Version+"  "+x.State,
			" ",
		))
		t := cli.NewTable("bundle of a registry")
		if x.Description != "" {
			t.Add("  about", x.Description)
		}
		t.Add("  items", strings.Join(x.Items, ", "))
		for _, s := range x.Signers {
			t.Add("  signer", fmt.Sprintf("%s (%s)", s.Key, strings.TrimSpace(string(s.Trust)+" "+s.Owner)))
		}
		if len(x.Caps) > 0 {
			t.Add("  asks", strings.Join(x.Caps, ", "))
		}
		t.Add("  first", "published "+x.First)
		u.Table(t)
	}
}

func registryInfoCommand() *cli.Command {
	o := env.PackageOptions{Space: space.Project}
	return &cli.Command{
		Name:     "info",
		Usage:    "show the versions of a bundle and what it brings",
		Args:     "ID[@VERSION]",
		Long:     `The same as rye info.`,
		Examples: []string{"rye registry info registry:rye.acme.io/acme.io/tools"},
		Codes:    env.RegistryCodes(diag.SourceNotFound, diag.VersionNotFound),
		Run: func(ctx context.Context, c *cli.Call) error {
			return env.ShowInfo(ctx, c, &o)
		},
	}
}

func registryPullCommand() *cli.Command {
	o := env.PackageOptions{Space: space.Project, Look: true}
	var to string
	return &cli.Command{
		Name:  "pull",
		Usage: "fetch and verify a bundle without a project",
		Args:  "ID[@VERSION]",
		Long: `Fetches the bundle into the cache and verifies it as rye add does: the proof of the log,
the signatures of keys that you trust, and your rules. No project changes. --to writes
the files into a new directory.`,
		Examples: []string{"rye registry pull registry:rye.acme.io/acme.io/tools@v1.0.0 --to tools"},
		Codes: env.PackageCodes(
			diag.SourceMoved,
			diag.FileSystemError,
			diag.LogProof,
			diag.LogEquivocation,
			diag.Rollback,
			diag.Stale,
			diag.RegistryError,
		),
		Flags: []cli.Flag{cli.String(&to, "to", "write the files into the new directory `DIR`")},
		Run: func(ctx context.Context, c *cli.Call) error {
			name, err := deps.FullRegistryID(env.Of(c), c.Arg(0))
			if err != nil {
				return err
			}
			q, err := packages.ParseQuery(name)
			if err != nil {
				return err
			}
			x, err := env.OpenPackages(ctx, c, &o)
			if err != nil {
				return err
			}
			defer x.Close()
			p, err := x.PullTo(ctx, q, to)
			if err != nil {
				return err
			}
			x.Close() // removes the progress line
			for _, n := range p.Notes {
				c.UI.Note("%s", n)
			}
			return c.UI.Show(p, func() {
				c.UI.Out("verified %s %s, signed by %s", p.ID, p.Version, strings.Join(p.Signers, ", "))
				for _, i := range p.Items {
					c.UI.Out("  %s", i.Ref)
				}
				if p.Dir != "" {
					c.UI.Out("written to %s", env.FromHere(c, p.Dir))
				}
			})
		},
	}
}

func registryMonitorCommand() *cli.Command {
	var ns string
	var keys []string
	return &cli.Command{
		Name:  "monitor",
		Usage: "list the log entries about a namespace since the last call",
		Args:  "HOST",
		Long: `Reads every entry of the log that is newer than the last call, verifies it and prints
those about the namespace, after verifying the signed statement of each. With --key it
fails if another key or the operator changed something: run it regularly for your own
namespace, and you see what others change in it.`,
		Examples: []string{"rye registry monitor rye.acme.io --namespace acme.io --key FINGERPRINT"},
		Codes:    env.RegistryCodes(diag.SourceMoved),
		Flags: []cli.Flag{
			cli.String(&ns, "namespace", "`NS` to list"),
			cli.Strings(&keys, "key", "a `KEY` that may publish: its fingerprint"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			all, found, err := items.MonitorRegistry(ctx, h, c.Arg(0), ns, keys)
			if err == nil {
				err = diag.FromFindings("monitoring "+ns, found)
			}
			if err != nil {
				return err
			}
			lines := []string{}
			for _, s := range all {
				lines = append(lines, client.Printable(s.Describe(s.Index)))
			}
			return c.UI.Show(map[string]any{"namespace": ns, "entries": lines}, func() {
				for _, l := range lines {
					c.UI.Out("%s", l)
				}
				if len(lines) == 0 {
					c.UI.Out("nothing new about %s", ns)
				}
			})
		},
	}
}

func registryVerifyCommand() *cli.Command {
	var key string
	return &cli.Command{
		Name:  "verify",
		Usage: "verify all static files of a registry",
		Args:  "DIR|URL",
		Long: `Reads the whole log and compares it with the signed checkpoint, every line of the index
with its log entries, and every archive with both. The key is --log-key, else the one
that you pinned, else the one that the files name: then the files are consistent, and the
owner of the key is unknown.`,
		Examples: []string{"rye registry verify ./mirror", "rye registry verify https://mirror.example/rye"},
		Codes:    env.RegistryCodes(diag.HashMismatch, diag.TagMoved),
		Flags:    []cli.Flag{cli.String(&key, "log-key", "the `KEY` of the log: NAME+HASH+KEY")},
		Run: func(ctx context.Context, c *cli.Call) error {
			h, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			r, err := items.VerifyRegistry(ctx, h, c.Arg(0), key)
			if err != nil {
				return err
			}
			err = diag.FromFindings("verifying "+c.Arg(0), r.Findings)
			if err != nil {
				var e *diag.Error
				if errors.As(err, &e) {
					return e.WithReason("registry_tree").WithDetail("host", r.Host)
				}
				return err
			}
			return c.UI.Show(r, func() {
				c.UI.Out("%s: %d log entries, %s verified", r.Host, r.Entries, cli.Plural(r.Releases, "release"))
				c.UI.Out("log key %s", r.Key)
			})
		},
	}
}
