package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/packages"
)

func updateCommand() *cli.Command {
	return &cli.Command{
		Name: "update", Group: packagesGroup,
		Usage: "raise what rye.yaml requires to the newest versions", Args: "[BUNDLE…]",
		Long: `Excluded versions, pre-releases that nobody named and versions younger than
policy.min-age stay out. --plan shows what would change and writes nothing: new
versions, and what each bundle may do that it could not before. New capabilities,
executables, hosts and signers need a person's yes: at a terminal, or --yes. A tag
that no longer holds what was locked refuses everything.`,
		Examples: []string{"rye update --plan", "rye update", "rye update github.com/acme/tools --yes"},
		Codes:    refusals(diag.ConsentRequired, diag.AmbiguousItem),
		Flags: packageFlags(
			&cli.BoolFlag{Name: "plan", Usage: "show what would change and write nothing"},
			&cli.BoolFlag{Name: "yes", Usage: "agree to what bundles may do more than before"},
		),
		Run: func(ctx context.Context, c *cli.Call) error {
			return changing(ctx, c, func(x *project.Packages) (*packages.Result, error) {
				return x.Update(ctx, packages.UpdateParams{Names: c.Args, Plan: c.Bool("plan"), Approve: approve(c, x, "updating")})
			})
		},
	}
}

// approve asks a person before bundles may do more than before.
func approve(c *cli.Call, x *project.Packages, doing string) func([]packages.Change) error {
	return func(wider []packages.Change) error {
		switch {
		case c.Bool("yes"):
			return nil
		case c.UI.AsJSON || !c.Isatty(c.Stdin):
			return packages.NotApproved(doing, wider)
		}
		x.Close()
		for _, w := range wider {
			showChange(c.UI, w)
		}
		answer, err := c.Ask("Let them do so? [y/N] ")
		if err != nil {
			return err
		}
		if a := strings.ToLower(answer); a == "y" || a == "yes" {
			return nil
		}
		return packages.NotApproved(doing, wider)
	}
}

func outdatedCommand() *cli.Command {
	return &cli.Command{
		Name: "outdated", Group: packagesGroup,
		Usage: "show locked bundles that have newer versions",
		Long: `Each remote is asked once. A tag that no longer holds what was locked is an alarm
and decides the exit status; the list is shown all the same.`,
		Examples: []string{"rye outdated", "rye outdated --json"},
		Codes:    []diag.Code{diag.LockMissing, diag.TagMoved, diag.ImpostorCommit, diag.LockRepointed, diag.Network},
		Flags:    packageFlags(),
		Run:      runOutdated,
	}
}

func runOutdated(ctx context.Context, c *cli.Call) error {
	x, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	defer x.Close()
	list, err := x.Outdated(ctx)
	x.Close()
	if err != nil && list == nil {
		return err
	}
	shownList := []packages.Outdated{}
	for _, o := range list {
		if o.Newest != o.Locked || o.Held != "" || o.Alarm != "" || c.UI.Detailed {
			shownList = append(shownList, o)
		}
	}
	data := map[string]any{"bundles": shownList, "total": len(list)}
	if err != nil && c.UI.AsJSON {
		return cli.Shown(err, data)
	}
	show := c.UI.Show(data, func() { showOutdated(c.UI, shownList, len(list)) })
	if err != nil {
		return err
	}
	return show
}

func showOutdated(u *cli.UI, list []packages.Outdated, all int) {
	if len(list) == 0 {
		u.Note("%s, none outdated.", plural(all, "bundle"))
		return
	}
	t := &cli.Table{Header: []string{"BUNDLE", "LOCKED", "NEWEST", ""}}
	for _, o := range list {
		remark := string(o.Alarm)
		if remark == "" && o.Held != "" {
			remark = o.Held + " is younger than policy.min-age allows"
		}
		t.Add(o.ID, o.Locked, o.Newest, remark)
	}
	u.Table(t)
}

func infoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Group: packagesGroup,
		Usage: "show what is known of a bundle", Args: "SOURCE",
		Long: `What rye.lock records, and the versions that the remote has. Nothing is fetched,
installed or believed.`,
		Examples: []string{"rye info github.com/acme/tools", "rye info tools --offline"},
		Codes:    []diag.Code{diag.SourceNotFound, diag.Network, diag.AuthRequired},
		Flags:    packageFlags(),
		Run:      runInfo,
	}
}

func runInfo(ctx context.Context, c *cli.Call) error {
	x, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	in, err := x.Info(ctx, c.Arg(0))
	if err != nil {
		return err
	}
	return c.UI.Show(in, func() {
		t := &cli.Table{}
		row := func(name string, values ...string) {
			for i, v := range values {
				if v != "" {
					t.Add(pick(i == 0, name, ""), v)
				}
			}
		}
		row("bundle", in.ID)
		row("url", in.URL)
		row("versions", strings.Join(in.Versions, ", "))
		row("required", in.Require)
		row("locked", strings.TrimSpace(in.Locked+" "+pick(in.State != "", "("+in.State+")", "")))
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
		c.UI.Table(t)
	})
}
