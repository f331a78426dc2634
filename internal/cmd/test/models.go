package test

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/testrun"
	"github.com/ryeos/rye/threads/threadhost"
)

// runModels runs the directives of the tests with each model.
func runModels(ctx context.Context, c *cli.Call, o *testOptions) error {
	var choices []testrun.ModelChoice
	for _, text := range o.models {
		m, err := testrun.ParseModelChoice(text)
		if err != nil {
			return err
		}
		choices = append(choices, m)
	}
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	refs, err := testrun.Find(ctx, h, c.Args)
	if err != nil {
		return err
	}
	reports := []*testrun.ModelReport{}
	for _, m := range choices {
		r, err := testrun.RunModel(ctx, h, refs, m, threadhost.Options{Held: policy.Person(), Limits: o.limits, Ask: ask.AboutRisk(c)})
		reports = append(reports, r) // what it cost is shown, also when it is cancelled
		if err != nil {
			return endModels(c, reports, err)
		}
	}
	return endModels(c, reports, nil)
}

func endModels(c *cli.Call, reports []*testrun.ModelReport, err error) error {
	for _, r := range reports {
		if err == nil {
			err = r.Err()
		}
	}
	return c.UI.Report(
		err,
		map[string]any{"models": reports},
		nil,
		func() { showModels(c.UI, reports) },
	)
}

func showModels(u *cli.UI, reports []*testrun.ModelReport) {
	t := cli.NewTable("models")
	for _, r := range reports {
		var turns int64
		for _, run := range r.Runs {
			turns += run.Cost.Turns
		}
		t.Add(r.Model, fmt.Sprintf("%d of %d", r.Success, r.Tests), fmt.Sprintf("%d of %d", r.Same, r.Tests), fmt.Sprint(turns), "$"+activity.Money(r.Spend),
			(time.Duration(r.Duration) * time.Millisecond).Round(100*time.Millisecond).String())
	}
	u.Table(t)
	for _, r := range reports {
		for _, run := range r.Runs {
			if run.Error != nil {
				u.Note("%s  %s  %s: %s", r.Model, run.Test, run.Error.Code, run.Error.Message)
			}
		}
	}
}
