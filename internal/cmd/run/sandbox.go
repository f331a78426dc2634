package run

import (
	"fmt"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/policy"
)

// addSandbox adds the rows that describe the sandbox of a plan.
func addSandbox(t *cli.Table, s *exec.Confinement) {
	if s == nil {
		return
	}
	t.Add("risk", fmt.Sprintf(
		"%s (%s): %s",
		s.Rating.Tier,
		s.Rating.Tier.Name(),
		s.Rating.Why,
	))
	for i, capability := range s.Calls {
		t.Add(cli.Pick(i == 0, "may call", ""), string(capability))
	}
	switch {
	case s.Unconfined && s.Rating.Class != policy.T4:
		t.Add("sandbox", "none: this machine cannot enforce it, and sandbox.unconfined of your allowance names the tool")
		return
	case s.Unconfined:
		t.Add("sandbox", "none: risk T4 runs without one, after a question")
		return
	case s.Applet:
		t.Add("sandbox", "rye's own code: it starts no program")
		return
	}
	for i, line := range view.ProfileLines(s.Shown()) {
		t.Add(cli.Pick(i == 0, "sandbox", ""), line)
	}
	for _, note := range s.Notes {
		t.Add("not granted", note)
	}
}

// showSandbox prints the isolation of a run with -v.
func showSandbox(u *cli.UI, s *exec.Sandbox) {
	if s == nil {
		return
	}
	u.Verbose(
		"sandbox: %s; layers %s; missing %s",
		s.Rung,
		view.OrNone(s.Layers),
		view.OrNone(s.Missing),
	)
	if s.Profile != nil {
		for _, line := range view.ProfileLines(*s.Profile) {
			u.Verbose("sandbox: %s", line)
		}
	}
	for _, note := range s.Notes {
		u.Verbose("sandbox: not granted: %s", note)
	}
	for _, conn := range s.Connections {
		u.Verbose(
			"sandbox: %s %s:%d, %d bytes out, %d in",
			cli.Pick(conn.Allowed, "connected to", "refused"),
			conn.Host,
			conn.Port,
			conn.BytesOut,
			conn.BytesIn,
		)
	}
}

// rungNote is what a user reads once on a machine that does not reach the strict rung.
func rungNote(rung string) string {
	if rung == string(sandbox.Landlock) {
		return "note: programs run in the sandbox landlock on this machine, without namespaces; rye doctor names what is missing"
	}
	return "note: this system has no file or network isolation: programs have your permissions; rye doctor names what is missing"
}
