package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/internal/proc"
)

// warmUp returns a Warm with a helper that was started early.
func warmUp(t *testing.T, r Rung) *Warm {
	t.Helper()
	needs(t, r)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := NewWarm(self, func() Ladder { return Probe().AtMost(r) })
	if !w.early {
		t.Skip("there is one processor")
	}
	w.Ahead(t.Context(), false)
	t.Cleanup(w.Drop)
	ready(t, w)
	return w
}

// ready returns the helper that waits when it was started.
func ready(t *testing.T, w *Warm) *helper {
	t.Helper()
	if w.waiting == nil {
		t.Fatal("no helper was started")
	}
	if <-w.waiting.started; w.waiting.p == nil {
		t.Fatal("the helper was not started")
	}
	return w.waiting
}

// TestWarm runs a program in a helper that was started early: streams, environment,
// directory, further descriptors and exit status are those of the command.
func TestWarm(t *testing.T) { onRungs(t, testWarm) }

func testWarm(t *testing.T, r Rung) {
	w, dir := warmUp(t, r), project(t)
	var fds []*os.File
	for _, text := range []string{"first", "second"} {
		pr, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pw.WriteString(text); err != nil {
			t.Fatal(err)
		}
		pw.Close()
		fds = append(fds, pr)
	}
	cmd := proc.Cmd{Argv: []string{"sh", "-c", `read line; echo "$line $V $PWD $(cat <&3) $(cat <&4)"; ls /proc/self/fd | wc -l; echo bad >&2; exit 7`},
		Env: []string{"PATH=/usr/bin:/bin", "V=v"}, Dir: dir, Stdin: strings.NewReader("in\n"), Files: fds}
	g := Grant{Self: executable(t), Rung: r, Project: dir, Read: []string{dir}, Net: "none", Warm: w}
	report, end, err := Wrap(&cmd, g, Probe())
	if err != nil || cmd.Spawn == nil {
		t.Fatalf("the helper was not used: %v", err)
	}
	res, err := proc.Run(context.Background(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := end(&res); err != nil {
		t.Fatal(err)
	}
	// 0 to 4, and the directory that ls reads
	if want := "in v " + dir + " first second\n6\n"; string(res.Stdout) != want || string(res.Stderr) != "bad\n" || res.ExitCode != 7 {
		t.Errorf("%d %q %q, want %q", res.ExitCode, res.Stdout, res.Stderr, want)
	}
	if report.Rung != r || w.take(g) != nil {
		t.Errorf("rung %s; a helper serves one program", report.Rung)
	}
}

// TestWarmOfOtherGrants keeps a helper from runs that it does not fit.
func TestWarmOfOtherGrants(t *testing.T) {
	w := warmUp(t, Strict)
	for _, g := range []Grant{{Rung: Strict, Net: "any"}, {Rung: Landlock, Net: "none"}, {Rung: Basic, Net: "any"}} {
		if w.take(g) != nil {
			t.Errorf("%+v took the helper", g)
		}
	}
}

// TestWarmDropped ends a helper that no run took, and one whose parent is gone.
func TestWarmDropped(t *testing.T) { onRungs(t, testWarmDropped) }

func testWarmDropped(t *testing.T, r Rung) {
	w := warmUp(t, r)
	pid := ready(t, w).p.Pid
	w.Drop()
	w.Drop()
	gone(t, pid)
}

// TestWarmAhead starts the helper of the next program when one is taken, if a run announced
// it: a further process each time, and none after the last one.
func TestWarmAhead(t *testing.T) { onRungs(t, testWarmAhead) }

func testWarmAhead(t *testing.T, r Rung) {
	w := warmUp(t, r)
	g := Grant{Rung: r, Net: "none"}
	w.Ahead(t.Context(), false) // for the run that takes the one that waits
	var pids []int
	for i := range 3 {
		if i < 2 {
			w.Ahead(t.Context(), true)
			w.Ahead(t.Context(), true) // another branch of the same node
		}
		pids = append(pids, ready(t, w).p.Pid)
		h := w.take(g)
		if h == nil || h.p.Pid != pids[i] {
			t.Fatalf("program %d did not get the helper that waited", i)
		}
		if other := w.waiting; (other != nil) != (i < 2) || other == h {
			t.Fatalf("after program %d: a helper waits: %t", i, other != nil)
		}
		defer gone(t, pids[i])
		defer func() { unix.Close(h.fd); h.group.close(); _, _ = h.p.Wait() }()
	}
	if pids[0] == pids[1] || pids[1] == pids[2] {
		t.Errorf("a helper served two programs: %v", pids)
	}
	// A helper that was announced and not used ends with the run.
	w.Ahead(t.Context(), true)
	last := ready(t, w).p.Pid
	w.Ahead(t.Context(), true)
	w.Drop()
	if gone(t, last); w.take(g) != nil || w.waiting != nil || w.next != nil {
		t.Error("a helper waits after Drop")
	}
}

// gone waits until a process is gone.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			out, _ := exec.Command("ps", "-o", "pid,stat,args", "-p", strconv.Itoa(pid)).CombinedOutput()
			t.Fatalf("the helper remains: %s", out)
		}
	}
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
