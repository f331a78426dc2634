//go:build unix

package sandbox

import (
	"context"
	"os/exec"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// TestAnotherHelper replaces the helper by programs that ignore the spec. A program
// that was not started is not a success, whatever the exit status is.
func TestAnotherHelper(t *testing.T) {
	for _, r := range []Rung{Strict, Landlock, Basic} {
		if !Probe().reaches(r) {
			continue
		}
		for _, name := range []string{"true", "echo", "false"} {
			self, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			cmd := proc.Cmd{Argv: []string{"sh", "-c", "exit 0"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}
			_, end, err := Wrap(&cmd, Grant{Self: self, Rung: r, Project: dir, Read: []string{dir}, Net: "none"}, Probe())
			if err != nil {
				t.Fatal(err)
			}
			res, err := proc.Run(context.Background(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(&res); diag.CodeOf(err) != diag.Internal {
				t.Errorf("%s instead of the helper, rung %s: %+v, %v", name, r, res, err)
			}
		}
	}
}
