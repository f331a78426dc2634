package sandbox

import (
	"context"
	"os"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// BenchmarkRun measures a run of true: bare, and confined on each rung. The helper is
// RYE_BENCH, a build of rye, or the test binary.
func BenchmarkRun(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if rye := os.Getenv("RYE_BENCH"); rye != "" {
		self = rye
	}
	ladder := Probe()
	run := func(b *testing.B, g *Grant) {
		for b.Loop() {
			cmd := proc.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"}
			end := func(*proc.Result) error { return nil }
			if g != nil {
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
	}
	b.Run("bare", func(b *testing.B) { run(b, nil) })
	b.Run("landlock", func(b *testing.B) { run(b, &Grant{Self: self, Rung: Landlock, Net: "none"}) })
	b.Run("strict-net-any", func(b *testing.B) { run(b, &Grant{Self: self, Rung: Strict, Net: "any", Tmp: true}) })
	b.Run("strict", func(b *testing.B) { run(b, &Grant{Self: self, Rung: Strict, Net: "none", Tmp: true}) })
}
