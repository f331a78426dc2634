package view

import (
	"strings"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/sign"
)

// Brought returns the items of a release with what they ask for.
func Brought(in *packages.Inspection) []string {
	var out []string
	for _, x := range in.Items {
		kind, id, _ := strings.Cut(x.Ref, ":")
		text := kind + " " + id
		var requests []string
		for _, a := range x.Asks {
			if host, ok := strings.CutPrefix(a, "net:"); ok {
				a = "network " + host
			}
			requests = append(requests, a)
		}
		if len(requests) > 0 {
			text += " (" + strings.Join(requests, ", ") + ")"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return []string{"no items"}
	}
	return out
}

// Release prints what a release contains. Nothing of it was verified.
func Release(u *cli.UI, in *packages.Inspection) {
	u.Note("Not verified: these are the contents of %s.", in.Version)
	t := cli.NewTable("release")
	row := func(name string, values []string) {
		for i, v := range values {
			t.Add(cli.Pick(i == 0, name, ""), v)
		}
	}
	row("release", []string{in.Name + " " + in.Version})
	for i, s := range in.Signers {
		label := sign.FingerprintGroups(s.Key)
		if s.Owner != "" {
			label += " (" + s.Owner + ")"
		}
		t.Add(cli.Pick(i == 0, "signer", ""), label)
		document := cli.Pick(s.Document != nil, "; the repository has its key document", "; the repository has no key document of it")
		t.Add("", cli.Pick(s.Verdict == "trusted", "trusted", "not trusted: "+s.Verdict+document))
	}
	row("items", Brought(in))
	row("asks for", in.Caps)
	row("hosts", in.Hosts)
	row("executable", in.Exec)
	u.Table(t)
}

func Info(u *cli.UI, in *packages.Info) {
	t := cli.NewTable("bundle")
	row := func(name string, values ...string) {
		for i, v := range values {
			if v != "" {
				t.Add(cli.Pick(i == 0, name, ""), v)
			}
		}
	}
	row("bundle", in.ID)
	row("url", in.URL)
	row("versions", strings.Join(in.Versions, ", "))
	row("required", in.Require)
	row("locked", strings.TrimSpace(
		in.Locked+" "+cli.Pick(in.State != "", "("+in.State+")", ""),
	))
	row("path", in.Path)
	row("commit", in.Commit)
	row("sum", in.Sum)
	row("signed by", in.Signers...)
	row("asks for", in.Caps...)
	row("executable", in.Exec...)
	for _, n := range in.Needs {
		row("needs", n.String())
	}
	for _, r := range in.Rules {
		row("rule", r.Key+" "+r.Value+" ("+r.Where()+")")
	}
	u.Table(t)
}
