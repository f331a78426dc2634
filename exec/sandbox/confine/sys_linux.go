package confine

import (
	"syscall"
	"unsafe"
)

// What the package syscall lacks. golang.org/x/sys/unix has it, but is initialised late
// (see the comment of the package). The numbers of calls since Linux 5 are equal on all
// architectures that rye is built for.
const (
	sysOpenTree      = 428
	sysMoveMount     = 429
	sysCloseRange    = 436
	sysOpenat2       = 437
	sysMountSetattr  = 442
	sysLandlockSet   = 444
	sysLandlockRule  = 445
	sysLandlockApply = 446
)

// Constants of Linux, with the names of its headers.
const (
	atFDCWD     = -0x64
	atEmptyPath = 0x1000
	atRecursive = 0x8000

	atSymlinkNoFollow = 0x100
	statxBirth        = 0x800
	statxWanted       = 0x7ff | statxBirth

	oPath             = 0x200000
	resolveNoSymlinks = 0x4
	openTreeClone     = 1
	openTreeCloexec   = syscall.O_CLOEXEC

	moveMountFromFD = 0x4  // MOVE_MOUNT_F_EMPTY_PATH
	moveMountToFD   = 0x40 // MOVE_MOUNT_T_EMPTY_PATH

	attrReadOnly = 0x1
	attrNoSuid   = 0x2
	attrNoDev    = 0x4
	attrNoExec   = 0x8

	closeRangeCloexec = 4

	prSetDumpable       = 4
	prCapbsetDrop       = 24
	prSetSecurebits     = 28
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	prCapAmbientClear   = 4
	capLastCap          = 40

	landlockPathBeneath = 1
	seccompSetFilter    = 1
)

func errnoOf(no syscall.Errno) error {
	if no == 0 {
		return nil
	}
	return no
}

func prctl(option, a, b uintptr) error {
	_, _, no := syscall.RawSyscall6(syscall.SYS_PRCTL, option, a, b, 0, 0, 0)
	return errnoOf(no)
}

// cstring returns a text with a NUL. No path of a Spec contains one.
func cstring(s string) (*byte, error) {
	return syscall.BytePtrFromString(s)
}

// openat2 opens a path without following a link.
func openat2(dir int, name string, flags uint64) (int, error) {
	p, err := cstring(name)
	if err != nil {
		return -1, err
	}
	how := struct{ flags, mode, resolve uint64 }{flags, 0, resolveNoSymlinks}
	for {
		fd, _, no := syscall.Syscall6(
			sysOpenat2,
			uintptr(dir),
			uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&how)),
			unsafe.Sizeof(how),
			0,
			0,
		)
		if no == syscall.EINTR {
			continue
		}
		return int(fd), errnoOf(no)
	}
}

func openTree(fd int, flags uintptr) (int, error) {
	var empty byte
	tree, _, no := syscall.Syscall(
		sysOpenTree,
		uintptr(fd),
		uintptr(unsafe.Pointer(&empty)),
		flags,
	)
	return int(tree), errnoOf(no)
}

// moveMount mounts the tree of one descriptor at the directory of the other.
func moveMount(tree, to int) error {
	var empty byte
	at := uintptr(unsafe.Pointer(&empty))
	_, _, no := syscall.Syscall6(
		sysMoveMount,
		uintptr(tree),
		at,
		uintptr(to),
		at,
		moveMountFromFD|moveMountToFD,
		0,
	)
	return errnoOf(no)
}

func mountSetattr(dir int, name string, flags uintptr, set uint64) error {
	p, err := cstring(name)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, userns uint64 }{set: set}
	_, _, no := syscall.Syscall6(
		sysMountSetattr,
		uintptr(dir),
		uintptr(unsafe.Pointer(p)),
		flags,
		uintptr(unsafe.Pointer(&attr)),
		unsafe.Sizeof(attr),
		0,
	)
	return errnoOf(no)
}

func closeRange(first, last, flags uintptr) error {
	_, _, no := syscall.Syscall(sysCloseRange, first, last, flags)
	return errnoOf(no)
}

// dropCaps gives up the capabilities of the calling thread.
func dropCaps() error {
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var none [6]uint32
	_, _, no := syscall.RawSyscall(
		syscall.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)),
		0,
	)
	return errnoOf(no)
}

// limitOf sets a limit of another process.
func limitOf(pid, resource int, lim *syscall.Rlimit) error {
	_, _, no := syscall.RawSyscall6(
		syscall.SYS_PRLIMIT64,
		uintptr(pid),
		uintptr(resource),
		uintptr(unsafe.Pointer(lim)),
		0,
		0,
		0,
	)
	return errnoOf(no)
}

// setUp sets a network interface up.
func setUp(socket int, name string) error {
	var request [40]byte // struct ifreq
	copy(request[:15], name)
	*(*uint16)(unsafe.Pointer(&request[16])) = syscall.IFF_UP | syscall.IFF_RUNNING
	_, _, no := syscall.Syscall(
		syscall.SYS_IOCTL,
		uintptr(socket),
		syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request)),
	)
	return errnoOf(no)
}
