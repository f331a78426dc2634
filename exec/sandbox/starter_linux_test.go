package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
	"github.com/ryeos/rye/internal/proc"
)

// startStarter returns a starter that serves the next helper.
func startStarter(t *testing.T) *Starter {
	t.Helper()
	s := &Starter{self: executable(t), wanted: starterFrom - 1}
	if !s.begin() {
		t.Fatal("the starter was not started")
	}
	t.Cleanup(s.stop)
	return s
}

// stop ends the starter of a test.
func (s *Starter) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.p != nil && !s.broken {
		s.end()
	}
}

// byStarter returns a Starter that starts the next helper.
func byStarter(t *testing.T) *Starter {
	t.Helper()
	needs(t, Strict)
	w := NewStarter(executable(t))
	w.wanted = starterFrom - 1
	t.Cleanup(w.stop)
	return w
}

// runSh runs a command line of sh in the rung strict. started are the fields of
// /proc/PID/stat of its helper from the state on.
func runSh(t *testing.T, w *Starter, net, script string) (res proc.Result, started []string, spawned bool) {
	t.Helper()
	dir := project(t)
	cmd := proc.Cmd{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, OnStart: func(pid int) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, text, _ := strings.Cut(string(b), ") ")
		started = append(strings.Fields(text), fmt.Sprint(pid))
	}}
	_, end, err := Wrap(&cmd, Grant{Self: w.self, Rung: Strict, Project: dir, Read: []string{dir}, Net: net, Starter: w}, Probe())
	if err != nil {
		t.Fatal(err)
	}
	spawned = cmd.Spawn != nil
	if res, err = proc.Run(context.Background(), cmd); err == nil {
		err = end(&res)
	}
	if err != nil {
		t.Fatal(err)
	}
	return res, started, spawned
}

// TestStarter runs programs in one process: the later helpers come from the starter, and
// are children of this process in groups of their own and in its session, like the others.
func TestStarter(t *testing.T) {
	needs(t, Strict)
	w := NewStarter(executable(t))
	t.Cleanup(w.stop)
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range starterFrom + 2 {
		net := []string{"none", "any"}[i%2]
		res, stat, spawned := runSh(t, w, net, "echo out; exit 7")
		if !strings.HasPrefix(string(res.Stdout), "out\n") || res.ExitCode != 7 {
			t.Fatalf("program %d: %+v", i+1, res)
		}
		if want := i+1 >= starterFrom && !Probe().Has(layerCgroup); spawned != want {
			t.Errorf("program %d: by the starter: %t", i+1, spawned)
		}
		pid := stat[len(stat)-1]
		if stat[1] != fmt.Sprint(os.Getpid()) || stat[2] != pid || stat[3] != fmt.Sprint(session) {
			t.Errorf("program %d: the helper %s has the parent, group and session %v", i+1, pid, stat[1:4])
		}
	}
}

// TestStarterNamespaces compares the namespaces of a helper of the starter with the namespaces of this
// process: all that were wanted differ, and the network only where it was.
func TestStarterNamespaces(t *testing.T) {
	needs(t, Strict)
	for _, network := range []bool{true, false} {
		s := startStarter(t)
		p, fd := s.helper(inNamespaces(network))
		if p == nil {
			t.Fatal("no helper was started")
		}
		for _, kind := range []string{"user", "mnt", "pid", "ipc", "uts", "net"} {
			own, err := os.Readlink("/proc/self/ns/" + kind)
			its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.Pid, kind))
			if want := kind != "net" || network; err != nil || err2 != nil || (own != its) != want {
				t.Errorf("%s: %s and %s: %v %v", kind, own, its, err, err2)
			}
		}
		unix.Close(fd)
		if state, err := p.Wait(); err != nil || state.ExitCode() != confine.Failed {
			t.Errorf("%v %v", state, err)
		}
	}
}

// TestStarterHoldsNothing examines the descriptors and the environment of the starter while
// this process has others. Another process of an ordinary user cannot read them at all.
func TestStarterHoldsNothing(t *testing.T) {
	needs(t, Strict)
	t.Setenv("CANARY", "secret")
	s := startStarter(t)
	p, fd := s.helper(inNamespaces(true))
	if p == nil {
		t.Fatal("no helper was started")
	}
	defer func() { unix.Close(fd); _, _ = p.Wait() }()
	at := fmt.Sprintf("/proc/%d/", s.p.Pid)
	entries, err := os.ReadDir(at + "fd")
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return // it is not dumpable: only root sees its descriptors
	}
	if err != nil || os.Geteuid() != 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, _ := os.Readlink(at + "fd/" + e.Name())
		if to != "/dev/null" && (e.Name() != "3" || !strings.HasPrefix(to, "socket:")) {
			t.Errorf("the descriptor %s is %s", e.Name(), to)
		}
	}
	b, err := os.ReadFile(at + "environ")
	got := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	if err != nil || !slices.Equal(got, confine.StarterEnviron()) {
		t.Errorf("%q %v", got, err)
	}
	if dir, err := os.Readlink(at + "cwd"); dir != "/" {
		t.Errorf("%q %v", dir, err)
	}
	s.stop()
	gone(t, s.p.Pid)
}

// TestStarterEnds kills the starter: later programs are started without it.
func TestStarterEnds(t *testing.T) {
	w := byStarter(t)
	if Probe().Has(layerCgroup) {
		t.Skip("helpers in a cgroup are started without it")
	}
	if _, _, spawned := runSh(t, w, "none", "true"); !spawned {
		t.Fatal("the starter was not used")
	}
	first := w.p.Pid
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		res, _, spawned := runSh(t, w, "none", "echo ok")
		if spawned || string(res.Stdout) != "ok\n" {
			t.Errorf("by the starter: %t, %+v", spawned, res)
		}
	}
	gone(t, first)
}

// TestStarterOutlived ends the starter while a program of it runs: the program, whose parent
// is this process, continues.
func TestStarterOutlived(t *testing.T) {
	needs(t, Strict)
	s := startStarter(t)
	p, fd := s.helper(inNamespaces(true))
	if p == nil {
		t.Fatal("no helper was started")
	}
	s.stop()
	gone(t, s.p.Pid)
	if err := unix.Kill(p.Pid, 0); err != nil {
		t.Errorf("the helper ended with the starter: %v", err)
	}
	if s.helper(inNamespaces(true)); s.p == nil || !s.broken {
		t.Error("a starter was started again")
	}
	unix.Close(fd)
	if state, err := p.Wait(); err != nil || state.ExitCode() != confine.Failed {
		t.Errorf("%v %v", state, err)
	}
}

// TestStarterNonsense has another process in the place of the starter, and answers that are
// not a child of this process: no helper is taken from it, and it is ended.
func TestStarterNonsense(t *testing.T) {
	number := uint64(starterFrom + 1)
	next := confine.AppendStarted(nil, number, 4711, 0)
	next[len("rye started\x00")]++
	for name, answer := range map[string][]byte{
		"nothing":         nil,
		"garbage":         []byte("pid 7"),
		"another version": next,
		"process 1":       confine.AppendStarted(nil, number, 1, 0),
		"this process":    confine.AppendStarted(nil, number, os.Getpid(), 0),
		"the parent":      confine.AppendStarted(nil, number, os.Getppid(), 0),
		"an error":        confine.AppendStarted(nil, number, 0, unix.EAGAIN),
		"the starter":     {0},
		"another request": confine.AppendStarted(nil, number-1, child(t), 0),
	} {
		t.Run(name, func(t *testing.T) {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			other := exec.Command("sleep", "60")
			if err := other.Start(); err != nil {
				t.Fatal(err)
			}
			if len(answer) == 1 {
				answer = confine.AppendStarted(nil, number, other.Process.Pid, 0)
			}
			s := &Starter{self: executable(t), wanted: starterFrom, p: other.Process, fd: fds[0]}
			var served sync.WaitGroup
			served.Go(func() {
				defer unix.Close(fds[1])
				b := make([]byte, 4096)
				n, _, err := unix.Recvfrom(fds[1], b, 0)
				if start, bad := confine.ParseStart(b[:max(n, 0)]); err != nil || bad != nil || start.Path != s.self {
					t.Error(err, bad)
				}
				if answer != nil {
					_ = unix.Send(fds[1], answer, 0)
				}
			})
			if p, fd := s.helper(inNamespaces(true)); p != nil || fd != -1 || !s.broken {
				t.Errorf("%v was taken as a helper", p)
			}
			served.Wait()
			gone(t, other.Process.Pid)
		})
	}
}

// child returns another child of this process, for which it asked nothing.
func child(t *testing.T) int {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c.Process.Pid
}

// TestStarterStopped stops the starter: the helpers that are wanted then wait for it once,
// together, and no longer if signals interrupt them.
func TestStarterStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a process that is stopped")
	}
	s := startStarter(t)
	s.stop()
	s = &Starter{self: s.self, wanted: starterFrom, wait: 2 * time.Second}
	if !s.begin() {
		t.Fatal("the starter was not started")
	}
	if err := s.p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began, done := time.Now(), make(chan struct{})
	var interrupting, waiting sync.WaitGroup
	interrupting.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
			threads, _ := os.ReadDir("/proc/self/task")
			for _, e := range threads {
				if tid, err := strconv.Atoi(e.Name()); err == nil {
					_ = unix.Tgkill(os.Getpid(), tid, unix.SIGURG)
				}
			}
		}
	})
	for range 5 {
		waiting.Go(func() {
			if p, _ := s.helper(inNamespaces(true)); p != nil {
				t.Error("a stopped starter started a helper")
			}
		})
	}
	waiting.Wait()
	took := time.Since(began)
	close(done)
	interrupting.Wait()
	if took < s.wait/2 || took > 4*s.wait { // one after the other they would wait five times
		t.Errorf("five helpers waited %v for the starter", took)
	}
	gone(t, s.p.Pid)
}

// TestStarterMemory asks the starter for what it refuses, very often: it keeps nothing of
// the requests.
func TestStarterMemory(t *testing.T) {
	s := startStarter(t)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	a := inNamespaces(true)
	self := s.self
	s.self = "/" + strings.Repeat("x/", 2000)
	first := 0
	for i := range 5000 {
		if _, err := s.ask(a, fds[1]); err != unix.ENOENT && err != unix.EACCES {
			t.Fatal(err)
		}
		if i == 500 {
			first = resident(t, s.p.Pid)
		}
	}
	if last := resident(t, s.p.Pid); last > first+8<<10 {
		t.Errorf("the starter grew from %d kB to %d kB", first, last)
	}
	s.self = self
	p, fd := s.helper(a)
	if p == nil {
		t.Fatal("the starter started no helper after this")
	}
	unix.Close(fd)
	_, _ = p.Wait()
}

// resident returns the resident memory of a process in kB.
func resident(t *testing.T, pid int) (kb int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(text, &kb); err != nil {
		t.Fatal(err)
	}
	return kb
}

// TestStarterDescriptors compares the descriptors of a program whose helper the starter started
// with the descriptors of one whose helper this process started.
func TestStarterDescriptors(t *testing.T) {
	w := byStarter(t)
	list := func() (string, bool) {
		res, _, spawned := runSh(t, w, "none", "ls -l /proc/$$/fd; true")
		var names []string // "1 -> pipe:"
		for line := range strings.Lines(string(res.Stdout)) {
			if name, to, ok := strings.Cut(line, " -> "); ok {
				to, _, _ = strings.Cut(strings.TrimSpace(to), "[")
				names = append(names, name[strings.LastIndex(name, " ")+1:]+" -> "+to)
			}
		}
		return strings.Join(names, "\n"), spawned
	}
	theirs, spawned := list()
	if spawned == Probe().Has(layerCgroup) {
		t.Errorf("by the starter: %t", spawned)
	}
	w.stop()
	ours, spawned := list()
	if spawned || theirs != ours || !strings.Contains(theirs, "1 -> pipe:") || strings.Contains(theirs, "socket:") {
		t.Errorf("%t\n%s\nwithout the starter\n%s", spawned, theirs, ours)
	}
}

// TestStarterNoZombies runs programs before and after the starter is killed: none of the
// processes remains as a zombie.
func TestStarterNoZombies(t *testing.T) {
	w := byStarter(t)
	for i := range 6 {
		if i == 3 && w.p != nil {
			_ = w.p.Kill()
		}
		runSh(t, w, "none", "sleep 0.01 & true")
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		zombies := slices.DeleteFunc(childrenOf(os.Getpid()), func(p process) bool { return p.state != "Z" })
		if len(zombies) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("zombies: %v", zombies)
		}
	}
}

// process is a process of the system.
type process struct {
	pid           int
	state, parent string
}

// childrenOf returns the children of a process.
func childrenOf(parent int) (list []process) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		_, text, _ := strings.Cut(string(b), ") ")
		if fields := strings.Fields(text); len(fields) > 2 && fields[1] == strconv.Itoa(parent) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			list = append(list, process{pid, fields[0], fields[1]})
		}
	}
	return list
}

// TestStarterOfAnotherVersion starts a starter whose file is another program.
func TestStarterOfAnotherVersion(t *testing.T) {
	self := t.TempDir() + "/rye"
	if err := os.WriteFile(self, []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := &Starter{self: self, wanted: starterFrom}
	if p, _ := s.helper(inNamespaces(true)); p != nil || !s.broken {
		t.Errorf("%v was taken as a helper", p)
	}
}

// TestStarterRefuses sends the starter requests that it must not serve: it ends.
func TestStarterRefuses(t *testing.T) {
	good := confine.AppendStart(nil, &confine.Start{Path: "/bin/true"})
	for name, c := range map[string]struct {
		request []byte
		socket  bool
	}{"garbage": {[]byte("x"), true}, "no socket": {good, false}, "one byte more": {append(good[:len(good):len(good)], 0), true}} {
		s := startStarter(t)
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		var rights []byte
		if c.socket {
			rights = unix.UnixRights(fds[1])
		}
		err = unix.Sendmsg(s.fd, c.request, rights, nil, 0)
		n, _, received := unix.Recvfrom(s.fd, make([]byte, 64), 0)
		if err != nil || n > 0 {
			t.Errorf("%s: %v, %d bytes %v", name, err, n, received)
		}
		err = errors.Join(unix.Close(fds[0]), unix.Close(fds[1]))
		if state, waited := s.p.Wait(); err != nil || waited != nil || state.ExitCode() != confine.Failed {
			t.Errorf("%s: %v %v %v", name, state, waited, err)
		}
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
