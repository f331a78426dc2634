package sandbox

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/proc"
)

// BenchmarkRun measures a run of true: bare, and confined with more and more layers. The
// helper is RYE_BENCH, a build of rye, or the test binary. ms-fastest is the figure that
// other work on the machine changes least.
func BenchmarkRun(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if rye := os.Getenv("RYE_BENCH"); rye != "" {
		self = rye
	}
	grants := []struct {
		name string
		g    *Grant
	}{
		{"bare", nil},
		{"limits", &Grant{Rung: Basic, Net: "any"}},
		{"landlock", &Grant{Rung: Landlock, Net: "none", Tmp: true}},
		{"strict, net any", &Grant{Rung: Strict, Net: "any", Tmp: true}},
		{"strict", &Grant{Rung: Strict, Net: "none", Tmp: true}},
	}
	ladder := Probe()
	for _, c := range grants {
		b.Run(c.name, func(b *testing.B) {
			var times []time.Duration
			for b.Loop() {
				start := time.Now()
				runTrue(b, c.g, self, ladder)
				times = append(times, time.Since(start))
			}
			b.ReportMetric(float64(slices.Min(times).Microseconds())/1000, "ms-fastest")
		})
	}
}

func runTrue(b *testing.B, g *Grant, self string, ladder Ladder) {
	cmd := proc.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
	end := func(*proc.Result) error { return nil }
	if g != nil {
		g.Self = self
		var err error
		if _, end, err = Wrap(&cmd, *g, ladder); err != nil {
			b.Skip(err)
		}
	}
	res, err := proc.Run(context.Background(), cmd)
	if err != nil {
		b.Fatal(err)
	}
	if err := end(&res); err != nil || res.ExitCode != 0 {
		b.Fatal(res.ExitCode, err)
	}
}
