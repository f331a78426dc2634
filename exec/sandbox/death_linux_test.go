package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/proc"
)

// deathVar makes the test binary run a program that never ends, for TestDeathOfRye.
const deathVar = "RYE_TEST_SANDBOX_DEATH"

func TestMain(m *testing.M) {
	if rung, project, ok := strings.Cut(os.Getenv(deathVar), " "); ok {
		self, _ := os.Executable()
		cmd := proc.Cmd{Argv: []string{"sh", "-c", "setsid sleep 7654321 & echo up; sleep 7654321"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: project,
			OnStdout: func(b []byte) { _, _ = os.Stdout.Write(b) }}
		ladder := Probe()
		if dir := os.Getenv(delegationVar); dir != "" {
			ladder.cgroup = &delegation{dir: dir}
		}
		rung, by, _ := strings.Cut(rung, "+")
		g := Grant{Self: self, Rung: Rung(rung), Project: project, Read: []string{project}, Net: "none"}
		if by != "" {
			g.Starter = NewStarter(self)
			g.Starter.wanted = starterFrom - 1
		}
		_, _, err := Wrap(&cmd, g, ladder)
		if err == nil && by != "" && g.Starter.p == nil {
			err = errors.New("the starter did not start the helper")
		}
		if err == nil {
			_, err = proc.Run(context.Background(), cmd)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestDeathOfRye kills the process that started a program: the kernel ends the program
// and its children.
func TestDeathOfRye(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) { deathOfRye(t, string(r)) })
	t.Run("starter", func(t *testing.T) {
		needs(t, Strict)
		deathOfRye(t, string(Strict)+"+starter")
	})
}

func deathOfRye(t *testing.T, how string) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := project(t)
	rye := exec.Command(self)
	rye.Env = append(os.Environ(), deathVar+"="+how+" "+dir)
	out, err := rye.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := rye.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("%q %v", line, err)
	}
	if len(inDirectory(dir)) == 0 {
		t.Fatal("no program was found while it ran")
	}
	children := childrenOf(rye.Process.Pid) // the helper, and the starter
	if want := 1 + strings.Count(how, "+"); len(children) != want {
		t.Errorf("%d children of rye, want %d: %v", len(children), want, children)
	}
	_ = rye.Process.Kill()
	_ = rye.Wait()
	for _, c := range children {
		ended(t, c.pid)
	}
	for deadline := time.Now().Add(10 * time.Second); len(inDirectory(dir)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v survived", inDirectory(dir))
		}
	}
}

// ended waits for the end of a process that is not a child of this one: who reaps it
// is not decided here.
func ended(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, text, _ := strings.Cut(string(b), ") ")
		if err != nil || strings.HasPrefix(text, "Z") || strings.HasPrefix(text, "X") {
			return
		}
		if time.Now().After(deadline) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			t.Fatalf("%d survived: %q", pid, line)
		}
	}
}

// inDirectory returns the sleeps that have a working directory.
func inDirectory(dir string) (pids []int) {
	for _, pid := range withArgument("7654321") {
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err == nil && cwd == dir {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestExec permits programs by name. The program itself and its interpreter always
// start.
func TestExec(t *testing.T) {
	onRungs(t, func(t *testing.T, r Rung) {
		cat, err := exec.LookPath("cat")
		if err != nil {
			t.Skip(err)
		}
		dir := project(t)
		for _, c := range []struct {
			exec []string
			want string
		}{{[]string{}, "no no"}, {[]string{cat}, "yes no"}} {
			g := Grant{Rung: r, Project: dir, Read: []string{dir}, Net: "none", Exec: &c.exec}
			res, _, err := confined(t, g, "a=no; b=no; /usr/bin/env cat rye.yaml >/dev/null 2>&1 && b=yes; cat rye.yaml >/dev/null 2>&1 && a=yes; echo $a $b")
			if got := strings.TrimSpace(string(res.Stdout)); got != c.want || err != nil {
				t.Errorf("%v: %q, want %q: %v %s", c.exec, got, c.want, err, res.Stderr)
			}
		}
	})
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}
