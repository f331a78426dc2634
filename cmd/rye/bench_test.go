//go:build unix

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/stdlib"
)

// inside returns the world of a command that runs in this process and reaches
// no further than the lab.
func (l *lab) inside(out *bytes.Buffer, args ...string) *cli.World {
	env := l.env()
	w := self.World(commands)
	w.Args, w.Dir, w.Self, w.Stdlib = args, l.dir, l.rye, stdlib.FS()
	w.Stdout, w.Stderr, w.Stdin = out, out, strings.NewReader("")
	w.Environ = func() []string { return env }
	w.Getenv = func(key string) string {
		for _, kv := range env {
			if k, v, _ := strings.Cut(kv, "="); k == key {
				return v
			}
		}
		return ""
	}
	return w
}

// benchCommand measures a command from its words to its exit status, with
// everything built anew as in a new process.
func benchCommand(b *testing.B, args ...string) {
	l := newLab(b)
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	l.write(".ai/tools/demo/hello.sh", flipTool)
	l.must("sign", "*")
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		if status := cli.Run(b.Context(), l.inside(&out, args...)); status != 0 {
			b.Fatalf("exit status %d\n%s", status, out.String())
		}
	}
}

func BenchmarkVersion(b *testing.B) { benchCommand(b, "version") }

// BenchmarkRunDry is all of rye run but the tool itself.
func BenchmarkRunDry(b *testing.B) { benchCommand(b, "run", "tool", "demo/hello", "--dry-run") }

func BenchmarkVerify(b *testing.B) { benchCommand(b, "verify") }
