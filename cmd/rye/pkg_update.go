package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/packages"
)

func updateCommand() *command {
	return &command{
		name: "update", group: packagesGroup,
		usage: "raise what rye.yaml requires to the newest versions", args: "[BUNDLE…]",
		long: `Excluded versions, pre-releases that nobody named and versions younger than
policy.min-age stay out. --plan shows what would change and writes nothing: new
versions, and what each bundle may do that it could not before. New capabilities,
executables, hosts and signers need a person's yes: at a terminal, or --yes. A tag
that no longer holds what was locked refuses everything.`,
		examples: []string{"rye update --plan", "rye update", "rye update github.com/acme/tools --yes"},
		codes:    refusals(diag.ConsentRequired, diag.AmbiguousItem),
		flags: packageFlags(
			&cli.BoolFlag{Name: "plan", Usage: "show what would change and write nothing"},
			&cli.BoolFlag{Name: "yes", Usage: "agree to what bundles may do more than before"},
		),
		run: func(ctx context.Context, c *call) error {
			return c.changing(ctx, func(x *engine) (*packages.Result, error) {
				return x.Update(ctx, packages.UpdateParams{Names: c.args, Plan: c.bool("plan"), Approve: c.approve(x, "updating")})
			})
		},
	}
}

// approve asks a person before bundles may do more than before.
func (c *call) approve(x *engine, doing string) func([]packages.Change) error {
	return func(wider []packages.Change) error {
		switch {
		case c.bool("yes"):
			return nil
		case c.ui.json || !c.Isatty(c.Stdin):
			return packages.NotApproved(doing, wider)
		}
		x.done()
		for _, w := range wider {
			c.ui.change(w)
		}
		answer, err := c.ask("Let them do so? [y/N] ")
		if err != nil {
			return err
		}
		if a := strings.ToLower(answer); a == "y" || a == "yes" {
			return nil
		}
		return packages.NotApproved(doing, wider)
	}
}

func outdatedCommand() *command {
	return &command{
		name: "outdated", group: packagesGroup,
		usage: "show locked bundles that have newer versions",
		long: `Each remote is asked once. A tag that no longer holds what was locked is an alarm
and decides the exit status; the list is shown all the same.`,
		examples: []string{"rye outdated", "rye outdated --json"},
		codes:    []diag.Code{diag.LockMissing, diag.TagMoved, diag.ImpostorCommit, diag.LockRepointed, diag.Network},
		flags:    packageFlags(),
		run:      runOutdated,
	}
}

func runOutdated(ctx context.Context, c *call) error {
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	defer x.done()
	list, err := x.Outdated(ctx)
	x.done()
	if err != nil && list == nil {
		return err
	}
	shownList := []packages.Outdated{}
	for _, o := range list {
		if o.Newest != o.Locked || o.Held != "" || o.Alarm != "" || c.ui.verbose {
			shownList = append(shownList, o)
		}
	}
	data := map[string]any{"bundles": shownList, "total": len(list)}
	if err != nil && c.ui.json {
		return shown(err, data)
	}
	show := c.ui.Show(data, func() { c.ui.outdated(shownList, len(list)) })
	if err != nil {
		return err
	}
	return show
}

func (u *ui) outdated(list []packages.Outdated, all int) {
	if len(list) == 0 {
		u.Note("%s, none outdated.", plural(all, "bundle"))
		return
	}
	t := &table{header: []string{"BUNDLE", "LOCKED", "NEWEST", ""}}
	for _, o := range list {
		remark := string(o.Alarm)
		if remark == "" && o.Held != "" {
			remark = o.Held + " is younger than policy.min-age allows"
		}
		t.add(o.ID, o.Locked, o.Newest, remark)
	}
	u.Table(t)
}

func infoCommand() *command {
	return &command{
		name: "info", group: packagesGroup,
		usage: "show what is known of a bundle", args: "SOURCE",
		long: `What rye.lock records, and the versions that the remote has. Nothing is fetched,
installed or believed.`,
		examples: []string{"rye info github.com/acme/tools", "rye info tools --offline"},
		codes:    []diag.Code{diag.SourceNotFound, diag.Network, diag.AuthRequired},
		flags:    packageFlags(),
		run:      runInfo,
	}
}

func runInfo(ctx context.Context, c *call) error {
	x, err := c.engine(ctx)
	if err != nil {
		return err
	}
	in, err := x.Info(ctx, c.arg(0))
	if err != nil {
		return err
	}
	return c.ui.Show(in, func() {
		t := &table{}
		row := func(name string, values ...string) {
			for i, v := range values {
				if v != "" {
					t.add(pick(i == 0, name, ""), v)
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
		c.ui.Table(t)
	})
}
