package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/proc"
)

// A helper that was started early ends with a run that is cancelled before its start, and
// leaves no zombie.
func TestCancelledBeforeStart(t *testing.T) {
	w, dir := warmUp(t, Strict), project(t)
	pid := w.waiting.p.Pid
	cmd := proc.Cmd{Argv: []string{"true"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}
	_, end, err := Wrap(&cmd, Grant{Self: executable(t), Rung: Strict, Project: dir, Read: []string{dir}, Net: "none", Warm: w}, Probe())
	if err != nil || cmd.Spawn == nil {
		t.Fatalf("the early helper is not used: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := proc.Run(ctx, cmd)
	if !res.Cancelled {
		t.Errorf("%+v, %v", res, err)
	}
	_ = end(&res)
	w.Drop()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat("/proc/" + strconv.Itoa(pid))
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if time.Now().After(until) {
			t.Fatal("the helper is still there")
		}
	}
}
