package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// checkSandbox reports the rung that programs reach on this system, what it costs and
// does not do, and each layer.
func checkSandbox(ctx context.Context, c *cli.Call) []checkResult {
	ladder := sandbox.Probe()
	out := []checkResult{{"sandbox", statusOK, view.RungText(ladder), ""}}
	if ladder.Best != sandbox.Basic && emptyProgram() != "" {
		cost, err := sandboxCost(ctx, c, ladder)
		if err != nil {
			out[0] = checkResult{"sandbox", statusFail, "an empty program does not start in it: " + err.Error(), "rye run fails with SANDBOX_UNAVAILABLE until this is solved; the rows below name the layers"}
		} else {
			out[0].Detail += fmt.Sprintf("; an empty run takes %.1f ms", float64(cost.Microseconds())/1000)
		}
	}
	if ladder.Best != sandbox.Strict && out[0].Status == statusOK {
		out[0].Status, out[0].Fix = statusWarn, rungFix(ladder.Best)
	}
	for _, l := range ladder.Layers {
		detail := l.Why
		if l.OK {
			detail = "ok"
			if l.Why != "" {
				detail = l.Why
			}
		}
		out = append(out, checkResult{Name: "sandbox " + l.Name, Status: cli.Pick(l.OK || ladder.Best == sandbox.Strict, statusOK, statusWarn), Detail: detail})
	}
	return out
}

func rungFix(r sandbox.Rung) string {
	if r == sandbox.Landlock {
		return "permit user namespaces; the rows below name what prevents them"
	}
	return "run only items whose signers you trust; rye config set --user agent/allowance sandbox.minimum=basic runs them without a question"
}

// sandboxCost measures an empty run, the best of three.
func sandboxCost(ctx context.Context, c *cli.Call, l sandbox.Ladder) (time.Duration, error) {
	var times []time.Duration
	for range 3 {
		began := time.Now()
		cmd := proc.Cmd{
			Path:    emptyProgram(),
			Argv:    []string{"true"},
			Dir:     "/",
			Env:     c.Environ(),
			Timeout: 10 * time.Second,
		}
		_, end, err := sandbox.Wrap(
			&cmd,
			sandbox.Grant{Self: c.Self, Net: policy.NetNone},
			l,
		)
		if err != nil {
			return 0, err
		}
		res, err := proc.Run(ctx, cmd)
		if err != nil {
			_ = end(nil)
			return 0, err
		}
		if err := end(&res); err != nil {
			return 0, err
		}
		if err := res.Err("running an empty program"); err != nil {
			return 0, err
		}
		times = append(times, time.Since(began))
	}
	return slices.Min(times), nil
}

// emptyProgram returns the path of a program that does nothing, "" without one.
func emptyProgram() string {
	for _, path := range []string{"/bin/true", "/usr/bin/true"} {
		fi, err := os.Stat(path)
		if err == nil && fi.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
