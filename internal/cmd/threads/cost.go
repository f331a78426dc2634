package threads

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/store"
)

// costOptions are the flags of rye threads cost.
type costOptions struct{ tree, user bool }

func threadsCostCommand() *cli.Command {
	var o costOptions
	return &cli.Command{
		Name:  "cost",
		Args:  "[THREAD]",
		Usage: "show what threads spent and reserved",
		Long: `Without an id, lists the threads of the project. With one, shows its maximum, what its
calls cost by model, and what is reserved for calls that are not answered yet. Assumed is
the part that the service did not report. Amounts are in US dollars.

The threads of a chain have one account: the id of each of them shows it, with the calls
of each. --tree adds the threads that it started, and a total in which each call counts
once. Spent, in the tree, is what the calls of the thread itself cost.`,
		Examples: []string{"rye threads cost", "rye threads cost triage-01jd --tree", "rye threads cost --user  # this day and this month"},
		Codes:    []diag.Code{diag.ThreadNotFound},
		Flags: []cli.Flag{
			cli.Bool(&o.tree, "tree", "with the threads that the thread started"),
			cli.Bool(&o.user, "user", "what this user account spent in the day and the month, in UTC"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runThreadsCost(ctx, c, &o)
		},
	}
}

func runThreadsCost(ctx context.Context, c *cli.Call, o *costOptions) error {
	if o.tree && len(c.Args) == 0 || o.user && len(c.Args) > 0 {
		return diag.New(diag.Usage, "showing costs: --tree needs a thread, --user takes none")
	}
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	s, err := store.Open(
		ctx,
		store.Dir(p.Dirs.State),
		store.Params{Now: p.Env.Now, Existing: true},
	)
	if store.Missing(err) {
		s = nil // no thread has run
	} else if err != nil {
		return err
	} else {
		defer s.Close()
	}
	switch {
	case o.user:
		return showPeriods(ctx, c, p, s)
	case len(c.Args) == 0:
		return showThreadCosts(ctx, c, p, s)
	case s == nil:
		return diag.New(diag.ThreadNotFound, "showing costs: no thread %q", c.Args[0]).
			WithReason("no_thread").
			WithDetail("id", c.Args[0])
	}
	id, err := watch.FindRun(ctx, c, p, c.Args[0])
	if diag.CodeOf(err) == diag.ThreadNotFound { // its log is removed
		id = c.Args[0]
		err = nil
	}
	if err != nil {
		return err
	}
	report, err := control.Costs(ctx, p, s, id, o.tree)
	if err != nil {
		return err
	}
	return c.UI.Show(report, func() {
		for _, cost := range report.Threads {
			showCost(c.UI, cost.Cost)
		}
		first := report.Threads[0]
		if o.tree || len(first.Chain) > 1 {
			showTotal(c.UI, report)
		}
	})
}

// showTotal prints a line for each thread of a tree and of its chains, and their sum.
func showTotal(u *cli.UI, r *control.CostReport) {
	t := cli.NewTable("cost of a tree")
	add := func(number int64, name string, s store.Sum, thread string) {
		t.Add(
			watch.NumberCell(number),
			name,
			fmt.Sprint(s.Calls),
			s.Actual.String(),
			s.Assumed.String(),
			s.Reserved.String(),
			thread,
		)
	}
	for _, c := range r.Threads {
		name := strings.Repeat("  ", c.Level) + watch.BareRef(c.Ref)
		if len(c.Chain) < 2 {
			add(c.Number, name, c.Own, c.Thread)
			continue
		}
		for _, l := range c.Chain {
			number := int64(0) // of a thread that continues an earlier one
			if l.Thread == c.Thread {
				number = c.Number
			}
			add(number, name, l.Sum, l.Thread)
		}
	}
	add(0, "total", r.Total, "")
	u.Table(t)
}

func showPeriods(ctx context.Context, c *cli.Call, p *project.Project, s *store.Store) error {
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return err
	}
	periods := store.NoPeriods(p.Env.Now(), a.Spend)
	if s != nil {
		if periods, err = s.Periods(ctx, a.Spend); err != nil {
			return err
		}
	}
	return c.UI.Show(map[string]any{"periods": periods}, func() {
		t := cli.NewTable("cost of a user")
		for _, period := range periods {
			t.Add(
				period.Period,
				period.Actual.String(),
				period.Reserved.String(),
				period.Max.String(),
			)
		}
		c.UI.Table(t)
	})
}

func showThreadCosts(ctx context.Context, c *cli.Call, p *project.Project, s *store.Store) error {
	costs := []store.Cost{}
	if s != nil {
		var err error
		if costs, err = s.Costs(ctx, p.Spaces.ProjectDir); err != nil {
			return err
		}
	}
	return c.UI.Show(map[string]any{"threads": costs}, func() {
		if len(costs) == 0 {
			c.UI.Note("No threads.")
			return
		}
		t := cli.NewTable("costs")
		for _, cost := range costs {
			t.Add(
				watch.NumberCell(cost.Number),
				watch.BareRef(cost.Ref),
				cost.State,
				watch.Age(c, cost.Created),
				fmt.Sprint(cost.Calls),
				cost.Actual.String(),
				cost.Reserved.String(),
				cost.Max.String(),
				cost.Thread,
			)
		}
		c.UI.Table(t)
	})
}

func showCost(u *cli.UI, cost store.Cost) {
	u.Out("%s  %s  %s", cost.Thread, cost.State, watch.BareRef(cost.Ref))
	t := cli.NewTable("cost")
	amounts := func(name string, all ...policy.USD) {
		row := []any{name}
		for _, a := range all {
			row = append(row, a.String())
		}
		t.Add(row...)
	}
	amounts("all", cost.Actual, cost.Assumed, cost.Reserved, cost.Max, cost.Overspent)
	for _, m := range cost.Models {
		t.Add(
			m.Model,
			m.Actual.String(),
			m.Assumed.String(),
			m.Reserved.String(),
			"",
			"",
		)
	}
	u.Table(t)
}
