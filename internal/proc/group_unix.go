//go:build unix

package proc

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const separators = "/"

// group is a process group, led by the program.
type group struct{ pgid int }

func groupAttr(orderly bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(attr, orderly)
	return attr
}

func newGroup(p *os.Process, _ Job) group {
	return group{pgid: p.Pid}
}

// terminate sends SIGTERM, and SIGCONT because a stopped program does not handle
// signals.
func (g group) terminate() {
	syscall.Kill(-g.pgid, syscall.SIGTERM)
	syscall.Kill(-g.pgid, syscall.SIGCONT)
}

func (g group) kill() {
	syscall.Kill(-g.pgid, syscall.SIGKILL)
}

func (g group) close() {}

// maxRSS returns an upper bound: between fork and exec the child shares the memory of
// this process, and Linux includes that peak in the child's.
func (g group) maxRSS(state *os.ProcessState) int64 {
	ru, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(ru.Maxrss)
	}
	return int64(ru.Maxrss) * 1024
}

func status(state *os.ProcessState) (code int, signal string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return state.ExitCode(), ""
}

func isBusy(err error) bool {
	return errors.Is(err, syscall.ETXTBSY)
}

func checkBatch(string, []string) error {
	return nil
}

func extensions(string, []string) []string {
	return []string{""}
}

func allowed(fi fs.FileInfo) error {
	if fi.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}
