//go:build linux

package sandbox

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// TestSockets connects to Unix sockets that a grant names, inside of the project and
// outside, and to one of a grant for another path. The rung landlock cannot keep them apart.
func TestSockets(t *testing.T) {
	t.Parallel()
	program := buildEscape(t)
	for _, c := range []struct {
		name, to string
		grant    []string
		reached  bool
	}{
		{"in the project", "{project}/dev.sock", []string{"{project}/dev.sock"}, true},
		{"outside", "{out}/docker.sock", []string{"{out}/docker.sock"}, true},
		{"outside, another one granted", "{out}/docker.sock", []string{"{project}/dev.sock"}, false},
		{"none granted", "{project}/dev.sock", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needRung(t, Strict)
			site := newSite(t, program)
			argv := site.argv(escapeRow{args: "dialunix " + c.to})
			res, _, err := site.run(t, Strict, argv, policy.NetNone, func(g *Grant, _ *proc.Cmd) {
				for _, p := range c.grant {
					g.Sockets = append(g.Sockets, filepath.FromSlash(site.places.Replace(p)))
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(res.Stdout), `"reached":true`); got != c.reached {
				t.Errorf("reached is %t, want %t: %s%s", got, c.reached, res.Stdout, res.Stderr)
			}
		})
	}
}
