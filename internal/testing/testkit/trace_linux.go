//go:build linux && (amd64 || arm64)

package testkit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// argument is where a system call has the file that it changes.
type argument int

const (
	inFd   argument = iota // arg 0 is a descriptor
	inPath                 // arg 0 is a path
	inTo                   // arg 1 is a path
	inAt                   // args 0 and 1 are a directory and a path
	inToAt                 // args 2 and 3 are a directory and a path
	inLink                 // args 1 and 2 are a directory and a path
	inHow                  // as inAt, with the flags of openat2 in memory
)

type change struct {
	name string
	arg  argument
}

// changes are the system calls that change files, on every architecture. The
// filter allows calls of openat that neither create nor truncate.
func changes() map[uint64]change {
	all := map[uint64]change{
		unix.SYS_WRITE: {"write", inFd}, unix.SYS_PWRITE64: {"write", inFd}, unix.SYS_WRITEV: {"write", inFd},
		unix.SYS_PWRITEV: {"write", inFd}, unix.SYS_PWRITEV2: {"write", inFd}, unix.SYS_SENDFILE: {"write", inFd},
		unix.SYS_FSYNC: {"fsync", inFd}, unix.SYS_FDATASYNC: {"fsync", inFd},
		unix.SYS_FTRUNCATE: {"truncate", inFd}, unix.SYS_FALLOCATE: {"truncate", inFd}, unix.SYS_TRUNCATE: {"truncate", inPath},
		unix.SYS_FCHMOD: {"chmod", inFd}, unix.SYS_FCHMODAT: {"chmod", inAt}, unix.SYS_FCHMODAT2: {"chmod", inAt},
		unix.SYS_OPENAT: {"create", inAt}, unix.SYS_OPENAT2: {"create", inHow},
		unix.SYS_MKDIRAT: {"mkdir", inAt}, unix.SYS_UNLINKAT: {"unlink", inAt}, unix.SYS_RENAMEAT2: {"rename", inToAt},
		unix.SYS_LINKAT: {"link", inToAt}, unix.SYS_SYMLINKAT: {"symlink", inLink},
	}
	for nr, c := range archChanges {
		all[nr] = c
	}
	return all
}

var traced = sync.OnceValue(changes)

// FilterMain installs the filter that stops the process at changes of files, and
// then runs the command in its arguments. It returns only if that fails. Its
// parent must be Run, because without a tracer these system calls fail.
func FilterMain(args []string) error {
	runtime.LockOSThread() // the filter belongs to the thread that calls exec
	prog := filter()
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	err = unix.Prctl(
		unix.PR_SET_SECCOMP,
		unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&fprog)),
		0,
		0,
	)
	if err != nil {
		return fmt.Errorf("installing the filter: %w", err)
	}
	return syscall.Exec(args[0], args, os.Environ())
}

// filter returns a BPF program that stops at the calls of changes and allows all
// others. A filter costs no time at other calls, unlike PTRACE_SYSCALL.
func filter() []unix.SockFilter {
	const (
		offNr, offArch, offFlags = 0, 4, 16 + 2*8 // of struct seccomp_data, the last is the low half of arg 2
		load                     = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal                    = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		anyBit                   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		result                   = unix.BPF_RET | unix.BPF_K
	)
	prog := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
		{Code: load, K: offNr},
		{Code: equal, K: unix.SYS_OPENAT, Jf: 4},
		{Code: load, K: offFlags},
		{Code: anyBit, K: unix.O_CREAT | unix.O_TRUNC, Jt: 1},
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
		{Code: result, K: unix.SECCOMP_RET_TRACE},
	}
	for nr := range traced() {
		prog = append(prog,
			unix.SockFilter{Code: equal, K: uint32(nr), Jf: 1},
			unix.SockFilter{Code: result, K: unix.SECCOMP_RET_TRACE})
	}
	return append(prog, unix.SockFilter{Code: result, K: unix.SECCOMP_RET_ALLOW})
}

// Run runs the command to its end, or to its death at change number Kill. It
// returns after all descendants have ended.
func (p Trace) Run() (Traced, error) {
	runtime.LockOSThread() // only the thread that started the process may trace it
	defer runtime.UnlockOSThread()
	t := &tracer{kill: p.Kill, known: map[int]bool{}}
	var err error
	if t.program, err = os.Stat(p.Program); err != nil {
		return Traced{}, err
	}
	cmd := exec.Command(p.Filter, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = p.Env
	if p.Output != nil {
		cmd.Stdout = p.Output
		cmd.Stderr = p.Output
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			err = fmt.Errorf("%w: starting %s: %w", ErrNoTracer, p.Filter, err)
		}
		return Traced{}, err
	}
	t.root = cmd.Process.Pid
	_ = cmd.Process.Release() // this function waits
	if err := t.begin(); err != nil {
		t.killAll()
		return t.Traced, errors.Join(err, t.run())
	}
	err = t.run()
	if err == nil && !t.filtered {
		err = fmt.Errorf("%w: %s did not install its filter", ErrNoTracer, p.Filter)
	}
	return t.Traced, err
}

// tracer is the state of one traced command.
type tracer struct {
	Traced
	root     int
	program  os.FileInfo
	kill     int
	known    map[int]bool // the threads that stopped once
	filtered bool         // the filter program started the command
}

// begin waits for the stop after the exec of the filter program and sets the
// options, which all descendants inherit.
func (t *tracer) begin() error {
	var ws unix.WaitStatus
	if err := wait(t.root, &ws); err != nil {
		return err
	}
	t.known[t.root] = true
	const options = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
		unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP
	if err := unix.PtraceSetOptions(t.root, options); err != nil {
		return fmt.Errorf("setting the options of ptrace: %w", err)
	}
	return unix.PtraceCont(t.root, 0)
}

func wait(pid int, ws *unix.WaitStatus) error {
	for {
		_, err := unix.Wait4(pid, ws, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// onlyTraced are options of wait for what this thread traces. Another goroutine may
// have started a process from this thread before, which its caller waits for: with
// WCLONE the kernel leaves out usual children, but never traced ones.
const onlyTraced = unix.WCLONE | unix.WNOTHREAD

// run continues all threads until none is left.
func (t *tracer) run() error {
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, onlyTraced, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		case !ws.Stopped():
			delete(t.known, tid)
			if tid == t.root {
				t.Status = ws.ExitStatus()
			}
			continue
		}
		signal, err := t.stopped(tid, ws)
		if err != nil {
			t.killAll()
			return errors.Join(err, t.run())
		}
		if t.Killed {
			t.killAll() // a thread or process that was new at the first kill too
			continue
		}
		// ESRCH: another thread of the process ended it.
		err = unix.PtraceCont(tid, signal)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			t.killAll()
			return errors.Join(fmt.Errorf("continuing thread %d: %w", tid, err), t.run())
		}
	}
}

// stopped handles one stop of a thread and returns the signal to deliver.
func (t *tracer) stopped(tid int, ws unix.WaitStatus) (signal int, err error) {
	is := t.known[tid]
	t.known[tid] = true
	switch event := int(ws) >> 16; {
	case event == unix.PTRACE_EVENT_SECCOMP:
		return 0, t.entered(tid)
	case event != 0:
		t.filtered = t.filtered || event == unix.PTRACE_EVENT_EXEC
		return 0, nil
	case !is && ws.StopSignal() == unix.SIGSTOP:
		return 0, nil // how a new thread or process starts
	}
	return int(ws.StopSignal()), nil
}

func (t *tracer) killAll() {
	for tid := range t.known {
		_ = unix.Kill(tid, unix.SIGKILL)
	}
}

// callInfo is struct ptrace_syscall_info at a stop of seccomp.
type callInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	data   uint32
	_      uint32
}

// entered counts the system call that a thread is about to make.
func (t *tracer) entered(tid int) error {
	var info callInfo
	_, _, errno := unix.RawSyscall6(
		unix.SYS_PTRACE,
		unix.PTRACE_GET_SYSCALL_INFO,
		uintptr(tid),
		unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)),
		0,
		0,
	)
	switch {
	case errno == unix.ESRCH:
		return nil
	case errno == unix.EIO: // before Linux 5.3
		return fmt.Errorf("%w: PTRACE_GET_SYSCALL_INFO: %w", ErrNoTracer, errno)
	case errno != 0:
		return fmt.Errorf("reading the system call of thread %d: %w", tid, errno)
	}
	c, ok := t.change(tid, &info)
	if !ok {
		return nil
	}
	t.Changes = append(t.Changes, c)
	if len(t.Changes) == t.kill {
		t.Killed = true
		t.killAll()
	}
	return nil
}

// change returns the change of a file that a system call makes, if it makes one
// and the program makes it.
func (t *tracer) change(tid int, info *callInfo) (Change, bool) {
	call, ok := traced()[info.nr]
	exe, err := os.Stat(procFile(tid, "exe"))
	if !ok || err != nil || !os.SameFile(exe, t.program) {
		return Change{}, false
	}
	a := &info.args
	c := Change{Call: call.name}
	switch call.arg {
	case inFd:
		fi, err := os.Stat(procFile(tid, "fd", strconv.Itoa(int(int32(a[0])))))
		if err != nil ||
			a[0] <= 2 ||
			!fi.Mode().IsRegular() && call.name != "fsync" {
			return c, false
		}
		c.Path, _ = os.Readlink(procFile(tid, "fd", strconv.Itoa(int(int32(a[0])))))
	case inPath:
		c.Path = pathAt(tid, unix.AT_FDCWD, a[0])
	case inTo:
		c.Path = pathAt(tid, unix.AT_FDCWD, a[1])
	case inAt:
		c.Path = pathAt(tid, int(int32(a[0])), a[1])
	case inToAt:
		c.Path = pathAt(tid, int(int32(a[2])), a[3])
	case inLink:
		c.Path = pathAt(tid, int(int32(a[1])), a[2])
	case inHow:
		var flags [8]byte // struct open_how begins with them
		if !memory(tid, a[2], flags[:]) ||
			binary.LittleEndian.Uint64(flags[:])&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return c, false
		}
		c.Path = pathAt(tid, int(int32(a[0])), a[1])
	}
	if !strings.HasPrefix(c.Path, "/") {
		return c, false // anon_inode:[eventfd], whose type is that of a regular file
	}
	for _, dir := range []string{"/proc/", "/dev/", "/sys/", "/memfd:"} {
		if strings.HasPrefix(c.Path, dir) && !strings.HasPrefix(c.Path, "/dev/shm/") {
			return c, false
		}
	}
	return c, true
}

func procFile(tid int, rest ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(tid)}, rest...)...)
}

// pathAt returns the absolute form of a path in the memory of a thread.
func pathAt(tid, dir int, addr uint64) string {
	path := text(tid, addr)
	if filepath.IsAbs(path) {
		return path
	}
	base := procFile(tid, "cwd")
	if dir != unix.AT_FDCWD {
		base = procFile(tid, "fd", strconv.Itoa(dir))
	}
	at, _ := os.Readlink(base)
	return filepath.Join(at, path)
}

// text returns the string that ends with a zero byte at addr. It is read page by
// page: the page after its end may not be readable.
func text(tid int, addr uint64) string {
	var out []byte
	for page := uint64(os.Getpagesize()); len(out) < unix.PathMax; {
		at := addr + uint64(len(out))
		part := make([]byte, page-at%page)
		if !memory(tid, at, part) {
			break
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(out, part[:end]...))
		}
		out = append(out, part...)
	}
	return string(out)
}

// memory fills b from the memory of a thread.
func memory(tid int, addr uint64, b []byte) bool {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMReadv(tid, local, remote, 0)
	return err == nil && n == len(b)
}
