package view

import (
	"strings"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
)

// Changes prints the changed bundles and a summary.
func Changes(u *cli.UI, r *packages.Result) {
	for _, c := range r.Changes {
		Change(u, c)
	}
	for _, n := range r.Notes {
		u.Note("%s", n)
	}
	for _, d := range r.Removed {
		u.Verbose("removed %s", d)
	}
	switch {
	case len(r.Installed) > 0:
		u.Note("%s installed", cli.Plural(len(r.Installed), "bundle"))
	case len(r.Removed) > 0:
		u.Note("%s removed from the space", cli.Plural(len(r.Removed), "bundle"))
	case len(r.Changes)+len(r.Wrote) == 0:
		u.Note("Nothing to do.")
	}
}

func Change(u *cli.UI, c packages.Change) {
	switch {
	case c.From == "":
		u.Out(
			"%s %s %s%s",
			u.Style(cli.Green, "+"),
			c.ID,
			c.To,
			SignedBy(c.Signers),
		)
	case c.To == "":
		u.Out("%s %s %s", u.Style(cli.Red, "-"), c.ID, c.From)
	case c.From != c.To:
		u.Out(
			"%s %s %s -> %s%s",
			u.Style(cli.Yellow, "~"),
			c.ID,
			c.From,
			c.To,
			SignedBy(c.Signers),
		)
	default:
		u.Out("%s %s %s", u.Style(cli.Yellow, "~"), c.ID, c.To)
	}
	showItemChanges(u, c)
	Lines(u, "asks for", cli.Pick(c.From == "", c.Caps, c.NewCaps))
	Lines(u, "new executable", c.NewExec)
	Lines(u, "new host", c.NewHosts)
	Lines(u, "new signer", c.NewSigners)
	Lines(u, "no longer asks for", c.GoneCaps)
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
		u.Out(
			"    %s%s",
			cli.Pick(x.Op == lock.Added, "new ", string(x.Op)+" "),
			ItemNote(x),
		)
	}
	if hidden > 0 {
		u.Out("    and %d more: rye diff %s %s", hidden, c.ID, c.To)
	}
}

// ItemNote returns an item of a bundle and what it does to items of others.
func ItemNote(x packages.ItemChange) string {
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

func Lines(u *cli.UI, label string, values []string) {
	for _, v := range values {
		u.Out("    %s %s", label, v)
	}
}

// SignedBy returns "  signed by" and the shortened keys, or "".
func SignedBy(signers []string) string {
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
