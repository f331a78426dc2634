package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/lock/why"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve/space"
)

// showChanges prints the changed bundles and a summary.
func showChanges(u *cli.UI, r *packages.Result) {
	for _, c := range r.Changes {
		showChange(u, c)
	}
	for _, n := range r.Notes {
		u.Note("%s", n)
	}
	for _, d := range r.Removed {
		u.Verbose("removed %s", d)
	}
	switch {
	case len(r.Installed) > 0:
		u.Note("%s installed", plural(len(r.Installed), "bundle"))
	case len(r.Removed) > 0:
		u.Note("%s removed from the space", plural(len(r.Removed), "bundle"))
	case len(r.Changes)+len(r.Wrote) == 0:
		u.Note("Nothing to do.")
	}
}

func showChange(u *cli.UI, c packages.Change) {
	switch {
	case c.From == "":
		u.Out("%s %s %s%s", u.Style(cli.Green, "+"), c.ID, c.To, signedBy(c.Signers))
	case c.To == "":
		u.Out("%s %s %s", u.Style(cli.Red, "-"), c.ID, c.From)
	case c.From != c.To:
		u.Out("%s %s %s -> %s%s", u.Style(cli.Yellow, "~"), c.ID, c.From, c.To, signedBy(c.Signers))
	default:
		u.Out("%s %s %s", u.Style(cli.Yellow, "~"), c.ID, c.To)
	}
	showItemChanges(u, c)
	showLines(u, "asks for", pick(c.From == "", c.Caps, c.NewCaps))
	showLines(u, "new executable", c.NewExec)
	showLines(u, "new host", c.NewHosts)
	showLines(u, "new signer", c.NewSigners)
	showLines(u, "no longer asks for", c.GoneCaps)
}

// maxShownItems is the number of changed items that a list for people has, without
// those that need consent.
const maxShownItems = 30

// showItemChanges prints the items of a bundle that differ from the version before. Of a
// new bundle it prints only those that replace others or are not used.
func showItemChanges(u *cli.UI, c packages.Change) {
	hidden := 0
	for i, x := range c.Items {
		switch {
		case x.Consent != "" || x.Reserved && x.Op != lock.Removed:
		case c.From == "":
			continue
		case i >= maxShownItems:
			hidden++
			continue
		}
		u.Out("    %s%s", pick(x.Op == lock.Added, "new ", string(x.Op)+" "), itemNote(x))
	}
	if hidden > 0 {
		u.Out("    and %d more: rye diff %s %s", hidden, c.ID, c.To)
	}
}

// itemNote returns an item of a bundle and what it does to items of others.
func itemNote(x packages.ItemChange) string {
	line := x.Name
	if x.Type != "" && x.Type != "script" {
		line += " (" + x.Type + ")"
	}
	switch {
	case x.Reserved:
		return line + ", not used: prefer of rye.yaml does not name the bundle for it"
	case len(x.Over) > 0:
		line += ", used instead of the item of " + strings.Join(x.Over, ", ")
	}
	if len(x.Under) > 0 {
		line += ", hidden by the item of " + strings.Join(x.Under, ", ")
	}
	return line
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func showLines(u *cli.UI, label string, values []string) {
	for _, v := range values {
		u.Out("    %s %s", label, v)
	}
}

// signedBy returns "  signed by" and the shortened keys, or "".
func signedBy(signers []string) string {
	if len(signers) == 0 {
		return ""
	}
	short := make([]string, len(signers))
	for i, s := range signers {
		s = strings.TrimPrefix(s, "ed25519:")
		short[i] = s[:min(16, len(s))]
	}
	return "  signed by " + strings.Join(short, ", ")
}

func treeCommand() *cli.Command {
	var o packageOptions
	return &cli.Command{
		Name: "tree", Group: packagesGroup,
		Usage: "show which bundle requires which",
		Long: `Reads only rye.lock. (…) marks a bundle whose requirements are already shown
above.`,
		Examples: []string{"rye tree", "rye tree --json"},
		Codes:    []diag.Code{diag.LockMissing},
		Flags:    packageFlags(&o),
		Run:      func(ctx context.Context, c *cli.Call) error { return runTree(ctx, c, &o) },
	}
}

func runTree(ctx context.Context, c *cli.Call, o *packageOptions) error {
	x, err := openPackages(ctx, c, o)
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

func whyCommand() *cli.Command {
	var o packageOptions
	return &cli.Command{
		Name: "why", Group: packagesGroup,
		Usage: "show why a bundle is locked", Args: "BUNDLE",
		Long:     `Prints the shortest chain of requirements from rye.yaml. Reads only rye.lock.`,
		Examples: []string{"rye why github.com/acme/tools"},
		Codes:    []diag.Code{diag.LockMissing, diag.SourceNotFound, diag.AmbiguousItem},
		Flags:    packageFlags(&o),
		Run:      func(ctx context.Context, c *cli.Call) error { return runWhy(ctx, c, &o) },
	}
}

func runWhy(ctx context.Context, c *cli.Call, o *packageOptions) error {
	x, err := openPackages(ctx, c, o)
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

// listBundles prints the locked bundles of a space and whether they are
// installed. The empty name is the project.
func listBundles(ctx context.Context, c *cli.Call, in space.Name) error {
	x, err := openPackages(ctx, c, &packageOptions{space: in})
	if err != nil {
		return err
	}
	list, err := x.List(ctx)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"bundles": list, "total": len(list)}, func() {
		if len(list) == 0 {
			c.UI.Note("No bundles.")
			return
		}
		t := newTable("bundles")
		for _, b := range list {
			name := b.ID
			if !b.Direct {
				name += " (needed by others)"
			}
			t.Add(name, b.Version, b.State, strings.TrimPrefix(strings.TrimSpace(signedBy(b.Signers)), "signed by "))
		}
		c.UI.Table(t)
	})
}
