package sandbox

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// TestInboxReadsReportsOfUnreadRequests ends a helper of the starter before it has
// read its request. The kernel then answers the next read of the other end with
// ECONNRESET, although the report of the helper is there.
func TestInboxReadsReportsOfUnreadRequests(t *testing.T) {
	for _, send := range []bool{true, false} {
		in, theirs, err := newInbox(nil, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Sendmsg(in.fd, []byte{0}, nil, nil, 0); err != nil { // the request
			t.Fatal(err)
		}
		if send {
			report := confine.AppendMessage(nil, confine.Message{Failure: &confine.Failure{Step: "start", What: "the signal terminated arrived"}})
			if err := unix.Sendmsg(int(theirs.Fd()), report, nil, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		theirs.Close()
		in.started()
		in.finish()
		switch {
		case send && (in.failure == nil || in.failure.Step != "start"):
			t.Errorf("failure %+v, err %v", in.failure, in.err)
		case !send && (in.failure != nil || in.end != nil):
			t.Errorf("a report without one: %+v %+v", in.failure, in.end)
		}
	}
}

// TestUnreported names what is known about a helper that ended without a report.
func TestUnreported(t *testing.T) {
	for want, err := range map[string]error{
		"the helper ended with exit status 125 and without a report: it did not get its request":                                   unreported(&proc.Result{ExitCode: confine.Failed}, nil),
		"the helper ended with exit status 125 and without a report: reading its reports: bad file descriptor":                     unreported(&proc.Result{ExitCode: confine.Failed}, unix.EBADF),
		"the helper ended with exit status 2 and without a report; stderr begins with \"runtime: failed to create new OS thread\"": unreported(&proc.Result{ExitCode: 2, Stderr: []byte("runtime: failed to create new OS thread\nmore\n")}, nil),
	} {
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestCancelledAtStart cancels a run before its program is started. The helper then reports
// that it ended early, which is not an error of the sandbox.
func TestCancelledAtStart(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		dir := project(t)
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			cmd := proc.Cmd{Argv: []string{"sh", "-c", "exec sleep 60"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, OnStart: func(pid int) {
				for !catchesTerm(t, pid) {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}}
			_, end, err := Wrap(&cmd, Grant{Self: executable(t), Rung: r, Project: dir, Read: []string{dir}, Net: "none"}, Probe())
			if err != nil {
				t.Fatal(err)
			}
			res, err := proc.Run(ctx, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(&res); err != nil || !res.Cancelled {
				t.Fatalf("%v, cancelled %t", err, res.Cancelled)
			}
		}
	})
}

// catchesTerm reports whether a process has a handler for SIGTERM: process 1 of a namespace
// does not get the signal before that.
func catchesTerm(t *testing.T, pid int) bool {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "SigCgt:")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	caught, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return caught&(1<<(unix.SIGTERM-1)) != 0
}
