package threads

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
)

// wakeLook is the longest pause of rye threads wake --watch: a thread can be suspended
// meanwhile.
const wakeLook = 5 * time.Second

func threadsWakeCommand() *cli.Command {
	var watch bool
	return &cli.Command{
		Name:  "wake",
		Usage: "start the suspended threads whose time has come",
		Long: `Continues each thread and run of the project that waits for a time that is over, in a
process of its own: it outlives this command and its session. A question whose time is over
is answered as its expiry states. Run it from a timer, or with --watch until Ctrl-C.`,
		Examples: []string{"rye threads wake", "rye threads wake --watch"},
		Codes:    []diag.Code{diag.ExecutionFailed, diag.Timeout},
		Flags:    []cli.Flag{cli.Bool(&watch, "watch", "continue, and start each thread when its time comes")},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Strict)
			if err != nil {
				return err
			}
			return runThreadsWake(ctx, c, p, watch)
		},
	}
}

func runThreadsWake(ctx context.Context, c *cli.Call, p *project.Project, watch bool) error {
	started := []control.Due{}
	tried := map[control.Due]bool{} // one that cannot be continued is tried once for a time
	for {
		list, err := control.AllDue(ctx, p)
		if err != nil {
			return err
		}
		rest := wakeLook
		for _, d := range list {
			left := d.WakeAt.Sub(p.Env.Now())
			if left > 0 {
				rest = min(rest, left)
				continue
			}
			if tried[d] {
				continue
			}
			tried[d] = true
			if err := control.Wake(ctx, p, &d); err != nil {
				c.UI.Warn("%v", err)
				continue
			}
			started = append(started, d)
			if !c.UI.AsJSON {
				c.UI.Note("started %s in process %d", d.ID, d.PID)
			}
		}
		if !watch {
			return c.UI.Show(map[string]any{"started": started, "waiting": len(list) - len(started)}, func() {
				if len(started) == 0 {
					c.UI.Out("no thread is due")
				}
			})
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rest):
		}
	}
}
