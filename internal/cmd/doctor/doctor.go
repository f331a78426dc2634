package doctor

import (
	"context"
	"fmt"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
)

// The status of a check.
const (
	statusOK   = "ok"
	statusWarn = "warn"
	statusFail = "fail"
)

// checkResult is what one check of rye doctor found.
type checkResult struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do unless the status is ok
}

// check inspects one aspect of the machine or the project. Checks run
// concurrently and leave no change.
type check func(ctx context.Context, c *cli.Call) []checkResult

// checks returns the checks of rye doctor, in the order of the report.
func checks() []check {
	return []check{
		checkVersion,
		checkSystemBundle,
		checkRyeServer,
		checkChains,
		checkPrograms,
		checkUserDirs,
		checkClock,
		checkSandbox,
		checkKeys,
		checkAgentKeys,
	}
}

func Command() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Group: "About rye",
		Usage: "check this machine and its settings",
		Long: `Prints one line per check. A warning means that some items cannot run, or run with
less protection; a failed check means that rye cannot work. Changes nothing.`,
		Examples: []string{
			"rye doctor",
			"rye doctor --json | jq '.data.checks[] | select(.status != \"ok\")'",
		},
		Codes: []diag.Code{diag.ExecutionFailed},
		Run:   runDoctor,
	}
}

func runDoctor(ctx context.Context, c *cli.Call) error {
	results := runChecks(ctx, c, checks())
	report := map[string]any{"checks": results}
	failed := countStatus(results, statusFail)
	if failed == 0 {
		return c.UI.Show(report, func() { showDoctor(c.UI, results) })
	}
	showDoctor(c.UI, results)
	return cli.Shown(diag.New(diag.ExecutionFailed, "checking this machine: %d of %d checks failed", failed, len(results)), report)
}

// runChecks runs all checks concurrently and returns the results in table order.
func runChecks(ctx context.Context, c *cli.Call, all []check) []checkResult {
	parts := make([][]checkResult, len(all))
	var wg sync.WaitGroup
	for i, ch := range all {
		wg.Go(func() {
			parts[i] = ch(ctx, c)
		})
	}
	wg.Wait()
	var out []checkResult
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func countStatus(results []checkResult, status string) int {
	n := 0
	for _, r := range results {
		if r.Status == status {
			n++
		}
	}
	return n
}

// showDoctor prints the report for people.
func showDoctor(u *cli.UI, results []checkResult) {
	colour := map[string]string{statusOK: cli.Green, statusWarn: cli.Yellow, statusFail: cli.Red}
	t := cli.NewTable("doctor")
	for _, r := range results {
		t.Add(
			u.Style(colour[r.Status], r.Status),
			r.Name,
			r.Detail,
		)
		if r.Fix != "" && r.Status != statusOK {
			t.Add("", "", "fix: "+r.Fix)
		}
	}
	u.Table(t)
	u.Out("")
	u.Out("%s: %d ok, %s, %d failed", cli.Plural(len(results), "check"),
		countStatus(results, statusOK), cli.Plural(countStatus(results, statusWarn), "warning"), countStatus(results, statusFail))
}

func checkVersion(_ context.Context, c *cli.Call) []checkResult {
	v := c.Program
	return []checkResult{{"rye", statusOK, fmt.Sprintf(
		"%s (%s, %s/%s)",
		v.Version,
		v.Go,
		v.OS,
		v.Arch,
	), ""}}
}

func checkSystemBundle(_ context.Context, c *cli.Call) []checkResult {
	if d := self.SystemBundle(c.Stdlib); d != "" {
		return []checkResult{{"system bundle", statusOK, d, ""}}
	}
	return []checkResult{{"system bundle", statusWarn, "this binary embeds no system items", "install a released rye"}}
}
