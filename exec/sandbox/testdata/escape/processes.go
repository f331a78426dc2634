//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The first argument is the number of a process outside, where one is needed.
func processAttempts() map[string]attempt {
	return map[string]attempt{
		"noop":       func([]string) error { return nil },
		"whoami":     whoami,
		"ptrace":     func(a []string) error { return unix.PtraceSeize(pid(a)) },
		"ptraceme":   func(a []string) error { return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME) },
		"vmread":     vmRead,
		"pidfdgetfd": pidfdGetfd,
		"procfile":   func(a []string) error { return procFile(pid(a), a[1]) },
		"signal":     func(a []string) error { return unix.Kill(pid(a), 0) },
		"pids":       otherProcesses,
		"holdfd":     descriptors,
		"environ":    environment,
		"doublefork": doubleFork,
		"ignoreterm": ignoreTerm,
		"heartbeat":  heartbeat,
		"priority":   func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, pid(a), 19) },
		"prlimit":    raiseLimit,
		"limitof":    limitOther,
		"killparent": killParent,
	}
}

func whoami([]string) error {
	fmt.Println(os.Geteuid())
	os.Exit(0)
	return nil
}

func pid(a []string) int {
	n, _ := strconv.Atoi(a[0])
	return n
}

// vmRead reads the memory of another process.
func vmRead(a []string) error {
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	_, err := unix.ProcessVMReadv(pid(a), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&buf[0])), Len: 8}}, 0)
	return permitted(err, syscall.EFAULT)
}

// pidfdGetfd takes a descriptor of another process.
func pidfdGetfd(a []string) error {
	fd, err := unix.PidfdOpen(pid(a), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

// procFile reads a file of another process in /proc.
func procFile(pid int, name string) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.IsDir() {
		_, err := f.Readdirnames(1)
		return err
	}
	_, err = f.Read(make([]byte, 1))
	return permitted(err, syscall.EIO) // memory at address 0
}

// otherProcesses succeeds if a process outside is listed: one whose parents do not
// lead to this process's own namespace or group.
func otherProcesses(a []string) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == a[0] {
			if b, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && strings.Contains(string(b), a[1]) {
				return nil
			}
		}
	}
	return errors.New("not listed")
}

// descriptors succeeds if a descriptor other than 0, 1 and 2 was inherited.
func descriptors([]string) error {
	for fd := 3; fd < 1024; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			return nil
		}
	}
	return errors.New("none")
}

// environment succeeds if a variable of the test is set, or contains its value.
func environment(a []string) error {
	for _, kv := range os.Environ() {
		if strings.Contains(kv, a[0]) {
			return nil
		}
	}
	return errors.New("not set")
}

// doubleFork starts a process in its own session that outlives its parent and holds
// a lock on the file of the first argument.
func doubleFork(a []string) error {
	cmd := exec.Command("/proc/self/exe", "heartbeat", a[0])
	if len(a) == 1 {
		cmd = exec.Command("/proc/self/exe", "doublefork", a[0], "again")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if len(a) > 1 {
		os.Exit(0)
	}
	_ = cmd.Wait()
	for range 12000 { // until the process holds the lock
		if err := tryLock(a[0]); err != nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("the process did not start")
}

// heartbeat holds a lock on a file until it is killed.
func heartbeat(a []string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	f, err := os.OpenFile(a[0], os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return nil
}

func tryLock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// ignoreTerm holds the lock itself and ignores signals.
func ignoreTerm(a []string) error { return heartbeat(a) }

// raiseLimit raises a limit of this process.
func raiseLimit([]string) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	lim.Max += 1000
	lim.Cur = lim.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
}

// limitOther sets a limit of another process so low that it ends.
func limitOther(a []string) error {
	other := os.Getppid()
	if len(a) > 0 {
		other = pid(a)
	}
	lim := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	return unix.Prlimit(other, unix.RLIMIT_AS, &lim, nil)
}

// killParent ends the process that supervises this one, as far as it can, and leaves
// a process behind.
func killParent(a []string) error {
	_ = limitOther(nil)
	for _, s := range []syscall.Signal{unix.SIGSTOP, unix.SIGQUIT, unix.SIGABRT, unix.SIGKILL} {
		_ = unix.Kill(os.Getppid(), s)
	}
	_ = unix.Kill(-1, unix.SIGKILL)
	return doubleFork(a)
}
