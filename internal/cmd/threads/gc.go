package threads

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/upkeep"
)

func threadsGCCommand() *cli.Command {
	var o upkeep.Options
	var age, keep string
	return &cli.Command{
		Name:  "gc",
		Usage: "remove the logs of old threads and runs that have completed",
		Long: `Removes the directories in .ai/threads of threads and runs that have completed, each with
all that it started and that continues it, or none of them. What runs, is suspended, can
be resumed or is damaged stays, with its whole tree. Without flags, the limits are in
config:agent/records. The registry keeps what the threads cost.

A tree with a working copy stays until the copy is dropped. A copy whose threads do not run and
had no event for 14 days (copies.older_than_days) is removed with what was not applied.`,
		Examples: []string{"rye threads gc --dry-run", "rye threads gc --older-than 7d --keep 20"},
		Codes:    []diag.Code{diag.ConfigError, diag.FileSystemError},
		Flags: []cli.Flag{
			cli.String(&age, "older-than", "remove what had no event for `DURATION`, such as 30d or 12h"),
			cli.String(&keep, "keep", "keep the `NUMBER` newest, whatever their age"),
			cli.Bool(&o.DryRun, "dry-run", "show what would be removed and change nothing"),
		},
		Run: func(ctx context.Context, c *cli.Call) (err error) {
			if o.OlderThan, err = ageOf(age); err != nil {
				return err
			}
			if o.Keep, err = numberOf(keep); err != nil {
				return err
			}
			return runThreadsGC(ctx, c, o)
		},
	}
}

// ageOf reads a duration, also in days; nil for "".
func ageOf(text string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < 0 {
		return nil, diag.New(diag.Usage, "--older-than: %q is not a length of time such as 30d or 12h", text)
	}
	return &d, nil
}

func numberOf(text string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, diag.New(diag.Usage, "--keep: %q is not a number of threads", text)
	}
	return &n, nil
}

func runThreadsGC(ctx context.Context, c *cli.Call, o upkeep.Options) error {
	p, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	report, err := upkeep.Remove(ctx, p, o)
	if err != nil {
		return err
	}
	for _, wc := range report.Copies {
		if wc.Soon {
			c.UI.Note("%s", copyWarning(wc))
		}
	}
	return c.UI.Report(report.Failed(), report, nil, func() {
		t := cli.NewTable("removed threads")
		for _, r := range report.Removed {
			t.Add(
				cli.Pick(report.DryRun, "would remove", "removed"),
				r.Root,
				cli.Plural(len(r.Threads), "thread"),
				r.Updated.Format(time.DateOnly),
			)
		}
		for _, k := range report.Kept {
			t.Add(
				"kept",
				k.Root,
				cli.Plural(len(k.Threads), "thread"),
				fmt.Sprintf("%s  %s", k.Updated.Format(time.DateOnly), k.Reason),
			)
		}
		for _, wc := range report.Copies {
			if wc.Dropped {
				t.Add(
					cli.Pick(report.DryRun, "would remove", "removed"),
					wc.ID,
					"working copy",
					wc.Updated.Format(time.DateOnly),
				)
			} else if wc.Reason != "" {
				t.Add("kept", wc.ID, "working copy", fmt.Sprintf(
					"%s  %s",
					wc.Updated.Format(time.DateOnly),
					wc.Reason,
				))
			}
		}
		if len(report.Removed)+len(report.Kept)+len(report.Copies) == 0 {
			c.UI.Out("no threads")
			return
		}
		c.UI.Table(t)
	})
}
