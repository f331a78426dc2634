package packages

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/lock/why"
)

func TreeCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "tree",
		Group: env.PackagesGroup,
		Usage: "show which bundle requires which",
		Long: `Reads only rye.lock. (…) marks a bundle whose requirements are already shown
above.`,
		Examples: []string{"rye tree", "rye tree --json"},
		Codes:    []diag.Code{diag.LockMissing},
		Flags:    env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runTree(ctx, c, &o)
		},
	}
}

func runTree(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	x, err := env.OpenPackages(ctx, c, o)
	if err != nil {
		return err
	}
	nodes, err := x.Tree(ctx)
	if err != nil {
		return err
	}
	if nodes == nil {
		nodes = []why.Node{}
	}
	return c.UI.Show(map[string]any{"tree": nodes}, func() {
		if len(nodes) == 0 {
			c.UI.Note("No bundles.")
		}
		showTree(c.UI, nodes, "")
	})
}

func showTree(u *cli.UI, nodes []why.Node, indent string) {
	for _, n := range nodes {
		line := n.ID + " " + n.Selected
		if n.Wanted != n.Selected && n.Wanted != "" && n.Selected != "" {
			line += " (requires " + n.Wanted + ")"
		}
		if n.Seen {
			line += " (…)"
		}
		u.Out("%s%s", indent, strings.TrimSpace(line))
		showTree(u, n.Children, indent+"  ")
	}
}

func WhyCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:     "why",
		Group:    env.PackagesGroup,
		Usage:    "show why a bundle is locked",
		Args:     "BUNDLE",
		Long:     `Prints the shortest chain of requirements from rye.yaml. Reads only rye.lock.`,
		Examples: []string{"rye why github.com/acme/tools"},
		Codes:    []diag.Code{diag.LockMissing, diag.SourceNotFound, diag.AmbiguousItem},
		Flags:    env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runWhy(ctx, c, &o)
		},
	}
}

func runWhy(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	x, err := env.OpenPackages(ctx, c, o)
	if err != nil {
		return err
	}
	id, steps, err := x.Why(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	if steps == nil {
		steps = []why.Step{}
	}
	return c.UI.Show(map[string]any{"id": id, "path": steps}, func() {
		for i, s := range steps {
			from := "rye.yaml"
			if s.From != "" {
				from = s.From
			}
			if s.Dropped != "" {
				from += " " + s.Dropped
			}
			c.UI.Out("%s%s requires %s %s", strings.Repeat("  ", i), from, s.ID, s.Wanted)
		}
	})
}
