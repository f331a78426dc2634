package sandbox

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// TestCancelledBeforeStart cancels a run before its start: the helper, which the starter has
// started, ends and leaves no zombie.
func TestCancelledBeforeStart(t *testing.T) {
	needs(t, Strict)
	starter := byStarter(t)
	dir := project(t)
	cmd := proc.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}
	_, end, err := Wrap(&cmd, Grant{Self: executable(t), Rung: Strict, Project: dir, Read: []string{dir}, Net: "none", Starter: starter}, Probe())
	if err != nil || cmd.Spawn == nil {
		t.Fatalf("the starter is not used: %v", err)
	}
	isStarter := func(p process) bool { return p.pid == starter.p.Pid }
	helpers := slices.DeleteFunc(childrenOf(os.Getpid()), isStarter)
	if len(helpers) != 1 {
		t.Fatalf("helpers: %v", helpers)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := proc.Run(ctx, cmd)
	if !res.Cancelled {
		t.Errorf("%+v, %v", res, err)
	}
	_ = end(&res)
	gone(t, helpers[0].pid)
}
