//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const notOpen = ^uintptr(0) // a descriptor that is never open

// kernelAttempts make system calls that a program does not need. Where an attempt
// could change the machine, its arguments are invalid: EBADF, EFAULT or EINVAL
// then states that only they stopped it.
func kernelAttempts() map[string]attempt {
	const late = syscall.EINVAL
	return map[string]attempt{
		"unsharens":  func(a []string) error { return permitted(unshare(unix.CLONE_NEWUSER), late) },
		"unsharenet": func(a []string) error { return permitted(unshare(unix.CLONE_NEWNET), syscall.ENOSPC) },
		"clonens":    func(a []string) error { return cloneNS() },
		"clone3":     func(a []string) error { return permitted(call(unix.SYS_CLONE3, 0, 0), late, syscall.EFAULT) },
		"setns":      setns,
		"mount":      func(a []string) error { return unix.Mount("none", ".", "tmpfs", 0, "size=4k") },
		"umount":     func(a []string) error { return permitted(unix.Unmount("/proc/escape", 0), syscall.ENOENT, late) },
		"pivotroot":  func(a []string) error { return permitted(call(unix.SYS_PIVOT_ROOT, 0, 0), syscall.EFAULT, late) },
		"movemount": func(a []string) error {
			return permitted(call(unix.SYS_MOVE_MOUNT, notOpen, 0, notOpen, 0), syscall.EFAULT, syscall.EBADF, late)
		},
		"opentree": func(a []string) error {
			return permitted(call(unix.SYS_OPEN_TREE, notOpen, 0, 1), syscall.EFAULT, syscall.EBADF, late)
		},
		"fsopen": func(a []string) error { return fsopen() },
		"mountattr": func(a []string) error {
			return permitted(call(unix.SYS_MOUNT_SETATTR, notOpen, 0, 0, 0, 0), syscall.EFAULT, syscall.EBADF, late)
		},
		"opentreeattr": func(a []string) error {
			return permitted(call(467, notOpen, 0, 1, 0, 0), syscall.EFAULT, syscall.EBADF, syscall.EPERM, late)
		},
		"clonecgroup": cloneIntoCgroup,
		"chroot":      func(a []string) error { return permitted(unix.Chroot("/proc/escape"), syscall.ENOENT) },
		"bpf": func(a []string) error {
			return permitted(call(unix.SYS_BPF, 0, 0, 0), late, syscall.EFAULT, syscall.E2BIG)
		},
		"perf": func(a []string) error {
			return permitted(call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0), syscall.EFAULT, late)
		},
		"iouring":     func(a []string) error { return permitted(call(unix.SYS_IO_URING_SETUP, 1, 0), syscall.EFAULT, late) },
		"userfaultfd": userfaultfd,
		"keyctl":      keyctl,
		"addkey":      func(a []string) error { return permitted(call(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0), syscall.EFAULT, late) },
		"requestkey":  func(a []string) error { return permitted(call(unix.SYS_REQUEST_KEY, 0, 0, 0, 0), syscall.EFAULT, late) },
		"kexec": func(a []string) error {
			return permitted(call(unix.SYS_KEXEC_LOAD, 0, 0, 0, ^uintptr(0)), late, syscall.EBUSY, syscall.EADDRNOTAVAIL)
		},
		"kexecfile": func(a []string) error {
			return permitted(call(unix.SYS_KEXEC_FILE_LOAD, notOpen, notOpen, 0, 0, ^uintptr(0)), late, syscall.EBADF)
		},
		"initmodule": func(a []string) error {
			return permitted(call(unix.SYS_INIT_MODULE, 0, 0, 0), syscall.EFAULT, syscall.ENOEXEC, late)
		},
		"finitmodule": func(a []string) error {
			return permitted(call(unix.SYS_FINIT_MODULE, notOpen, 0, 0), syscall.EBADF, syscall.EFAULT, late)
		},
		"quotactl": func(a []string) error {
			return permitted(call(unix.SYS_QUOTACTL, 0, 0, 0, 0), syscall.ENODEV, syscall.ENOTBLK, syscall.EFAULT, late)
		},
		"swapon":      func(a []string) error { return permitted(call(unix.SYS_SWAPON, 0, ^uintptr(0)), late, syscall.EFAULT) },
		"reboot":      func(a []string) error { return permitted(call(unix.SYS_REBOOT, 0, 0, 0, 0), late) },
		"settime":     func(a []string) error { return permitted(call(unix.SYS_CLOCK_SETTIME, 99, 0), late, syscall.EFAULT) },
		"tiocsti":     func(a []string) error { return terminal(unix.TIOCSTI) },
		"tiocstihigh": func(a []string) error { return terminal(1<<32 | unix.TIOCSTI) },
		"tioclinux":   func(a []string) error { return terminal(unix.TIOCLINUX) },
		"x32": func(a []string) error {
			return permitted(call(0x40000000|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0), late)
		},
		"int80":      func(a []string) error { return int80() },
		"setuid":     setuid,
		"capability": capability,
		"newprivs":   newPrivs,
	}
}

func unshare(flags int) error { return unix.Unshare(flags) }

// cloneIntoCgroup starts a process in the cgroup of a directory that it can open.
func cloneIntoCgroup(a []string) error {
	var args struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64 }
	args.flags = unix.CLONE_INTO_CGROUP
	args.exitSignal = uint64(unix.SIGCHLD)
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	args.cgroup = uint64(fd)
	return permitted(call(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)), syscall.EBADF, syscall.EINVAL, syscall.EACCES)
}

// cloneNS starts a process in a user namespace of its own.
func cloneNS() error {
	cmd := exec.Command("/proc/self/exe", "noop")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Wait()
	return nil
}

func setns(a []string) error {
	f, err := os.Open("/proc/self/ns/uts")
	if err != nil {
		return permitted(call(unix.SYS_SETNS, notOpen, 0), syscall.EBADF)
	}
	defer f.Close()
	return permitted(unix.Setns(int(f.Fd()), unix.CLONE_NEWNET), syscall.EINVAL)
}

func fsopen() error {
	fd, err := unix.Fsopen("tmpfs", 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func userfaultfd(a []string) error {
	fd, _, e := syscall.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1, 0, 0)
	if e != 0 {
		return e
	}
	return unix.Close(int(fd))
}

// keyctl reads the number of the session's keyring.
func keyctl(a []string) error {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
	return err
}

// terminal sends one character, or a command, to standard input's terminal.
func terminal(request uintptr) error {
	c := byte('x')
	_, _, e := syscall.Syscall(unix.SYS_IOCTL, 0, request, uintptr(unsafe.Pointer(&c)))
	return permitted(errnoOrNil(e), syscall.ENOTTY, syscall.EINVAL, syscall.EIO)
}

func errnoOrNil(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// setuid starts a program that belongs to another user and has the set-uid bit, and
// reports whether it got that user's permissions. The argument is the program.
func setuid(a []string) error {
	out, err := exec.Command(a[0], "whoami").Output()
	if err != nil {
		return err
	}
	if uid, err := strconv.Atoi(strings.TrimSpace(string(out))); err != nil || uid == os.Geteuid() {
		return errors.New("no other user")
	}
	return nil
}

// capability succeeds if the process has a capability, in whatever namespace.
func capability(a []string) error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if name == "CapEff" || name == "CapPrm" {
			if strings.Trim(strings.TrimSpace(value), "0") != "" {
				return nil
			}
		}
	}
	return errors.New("no capability")
}

func newPrivs(a []string) error {
	n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && n == 1 {
		return errors.New("no new privileges")
	}
	return err
}
