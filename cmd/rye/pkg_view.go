package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

// changes prints one line for each bundle.
func (u *ui) changes(r *packages.Result) {
	for _, c := range r.Changes {
		u.change(c)
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

func (u *ui) change(c packages.Change) {
	switch {
	case c.From == "":
		u.Out("%s %s %s%s", u.Style(green, "+"), c.ID, c.To, signedBy(c.Signers))
	case c.To == "":
		u.Out("%s %s %s", u.Style(red, "-"), c.ID, c.From)
	case c.From != c.To:
		u.Out("%s %s %s -> %s%s", u.Style(yellow, "~"), c.ID, c.From, c.To, signedBy(c.Signers))
	default:
		u.Out("%s %s %s", u.Style(yellow, "~"), c.ID, c.To)
	}
	u.lines("asks for", pick(c.From == "", c.Caps, c.NewCaps))
	u.lines("new executable", c.NewExec)
	u.lines("new host", c.NewHosts)
	u.lines("new signer", c.NewSigners)
	u.lines("asks no more for", c.GoneCaps)
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

func (u *ui) lines(what string, values []string) {
	for _, v := range values {
		u.Out("    %s %s", what, v)
	}
}

// signedBy names the signers shortly.
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

func treeCommand() *command {
	return &command{
		name: "tree", group: packagesGroup,
		usage:    "show which bundle requires which",
		long:     `From rye.lock alone. A bundle whose needs stand above already is marked (…).`,
		examples: []string{"rye tree", "rye tree --json"},
		codes:    []diag.Code{diag.LockMissing},
		flags:    packageFlags(),
		run: func(ctx context.Context, c *call) error {
			x, err := c.engine(ctx)
			if err != nil {
				return err
			}
			nodes, err := x.Tree(ctx)
			if err != nil {
				return err
			}
			if nodes == nil {
				nodes = []lock.Node{}
			}
			return c.ui.Show(map[string]any{"tree": nodes}, func() {
				if len(nodes) == 0 {
					c.ui.Note("No bundles.")
				}
				c.ui.tree(nodes, "")
			})
		},
	}
}

func (u *ui) tree(nodes []lock.Node, indent string) {
	for _, n := range nodes {
		line := n.ID + " " + n.Selected
		if n.Wanted != n.Selected && n.Wanted != "" && n.Selected != "" {
			line += " (wants " + n.Wanted + ")"
		}
		if n.Seen {
			line += " (…)"
		}
		u.Out("%s%s", indent, strings.TrimSpace(line))
		u.tree(n.Children, indent+"  ")
	}
}

func whyCommand() *command {
	return &command{
		name: "why", group: packagesGroup,
		usage: "show why a bundle is locked", args: "BUNDLE",
		long:     `The shortest chain of requirements from rye.yaml, from rye.lock alone.`,
		examples: []string{"rye why github.com/acme/tools"},
		codes:    []diag.Code{diag.LockMissing, diag.SourceNotFound, diag.AmbiguousItem},
		flags:    packageFlags(),
		run:      runWhy,
	}
}

func runWhy(ctx context.Context, c *call) error {
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	id, steps, err := x.Why(ctx, c.arg(0))
	if err != nil {
		return err
	}
	if steps == nil {
		steps = []lock.Step{}
	}
	return c.ui.Show(map[string]any{"id": id, "path": steps}, func() {
		for i, s := range steps {
			from := "rye.yaml"
			if s.From != "" {
				from = s.From
			}
			if s.Dropped != "" {
				from += " " + s.Dropped
			}
			c.ui.Out("%s%s requires %s %s", strings.Repeat("  ", i), from, s.ID, s.Wanted)
		}
	})
}

// listBundles shows the locked bundles and how they stand in the space.
func (c *call) listBundles(ctx context.Context) error {
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	list, err := x.List(ctx)
	if err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"bundles": list, "total": len(list)}, func() {
		if len(list) == 0 {
			c.ui.Note("No bundles.")
			return
		}
		t := &table{header: []string{"BUNDLE", "VERSION", "STATE", "SIGNER"}}
		for _, b := range list {
			name := b.ID
			if !b.Direct {
				name += " (needed by others)"
			}
			t.add(name, b.Version, b.State, strings.TrimPrefix(strings.TrimSpace(signedBy(b.Signers)), "signed by "))
		}
		c.ui.Table(t)
	})
}
