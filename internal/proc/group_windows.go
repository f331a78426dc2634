package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const separators = `/\:`

// group is a job object that ends with its handle, so also when this process is
// killed. If none can be made (0), only the program itself is ended.
type group struct {
	p   *os.Process
	job windows.Handle
}

func groupAttr(bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func newGroup(p *os.Process, limits Job) group {
	g := group{p: p}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	if err := attach(job, p.Pid, limits); err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// EndTogether puts this process into a job that ends with it: the programs that it starts from now on,
// and theirs, end when this process ends, also when it is killed. The handle stays open until then.
func EndTogether() error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	if err := attach(job, os.Getpid(), Job{}); err != nil {
		windows.CloseHandle(job)
		return err
	}
	return nil
}

func attach(job windows.Handle, pid int, limits Job) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if limits.Memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(limits.Memory)
	}
	if limits.Processes > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = uint32(limits.Processes)
	}
	if limits.CPUSeconds > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_TIME
		basic.PerJobUserTimeLimit = limits.CPUSeconds * 1e7 // in 100 ns
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return err
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(job, h)
}

func (g group) terminate() {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.p.Pid))
}

func (g group) kill() {
	if g.job == 0 {
		g.p.Kill()
		return
	}
	windows.TerminateJobObject(g.job, 1)
}

func (g group) close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
}

func (g group) maxRSS(*os.ProcessState) int64 {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if g.job == 0 || windows.QueryInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) != nil {
		return 0
	}
	return int64(info.PeakProcessMemoryUsed)
}

func status(state *os.ProcessState) (int, string) { return state.ExitCode(), "" }

func isBusy(error) bool { return false }

// checkBatch refuses arguments that cmd.exe, which runs batch files, would split.
func checkBatch(path string, argv []string) error { return checkBatchArgs(path, argv) }

// extensions returns the entries of PATHEXT, with "" first if name has one of them.
func extensions(name string, env []string) []string {
	list, ok := Lookup(env, "PATHEXT")
	if !ok || list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	exts := strings.Split(list, ";")
	for _, ext := range exts {
		if ext != "" && strings.EqualFold(filepath.Ext(name), ext) {
			return append([]string{""}, exts...)
		}
	}
	return exts
}

func allowed(fs.FileInfo) error { return nil }
