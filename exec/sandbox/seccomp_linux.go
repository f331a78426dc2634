package sandbox

import (
	"maps"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Results of a seccomp filter.
const (
	seccompAllow = 0x7fff0000
	seccompKill  = 0x80000000
	seccompErrno = 0x00050000
	seccompAsk   = 0x7fc00000 // SECCOMP_RET_USER_NOTIF: the helper makes the call
	seccompEPERM = seccompErrno | uint32(unix.EPERM)
)

// Offsets in struct seccomp_data. Both architectures are little-endian: the low half of
// an argument comes first.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// lastCall is the last system call that this version of rye knows: removexattrat. The kernel
// numbers those since Linux 5.1 alike on all architectures. Later ones do not exist for a
// program, because they can be what an earlier one is refused for, as open_tree_attr is.
const lastCall = 466

// refusedCalls are system calls that no confined program needs, and with which one
// reaches other processes, the kernel or other namespaces.
func refusedCalls() []uint32 {
	return append(refusedOfArch(),
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_GETFD,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_FANOTIFY_INIT,
		unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_SYSLOG,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	)
}

// families returns the address families of sockets that a program may create. A service
// may listen on a path that the program sees, in its project for example, and a connection
// needs no permission to write, so Unix sockets are a grant of their own. socketpair is not
// refused: its sockets are connected to each other.
func families(net string, sockets bool) []uint32 {
	var out []uint32
	if sockets {
		out = append(out, unix.AF_UNIX)
	}
	switch net {
	case "loopback", "hosts":
		out = append(out, unix.AF_INET, unix.AF_INET6)
	case "any":
		out = append(out, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	return out
}

// setID are the bits of a mode that make a program run as the owner or the group of its
// file. Another user of the machine could start such a program as this user.
const setID = unix.S_ISUID | unix.S_ISGID

// tmpFile is the bit of O_TMPFILE that O_DIRECTORY does not have.
const tmpFile = unix.O_TMPFILE &^ unix.O_DIRECTORY

// modeCall is a system call that gives a file a mode. Arguments count from 0.
type modeCall struct {
	number uint32
	mode   uint32 // the argument with the mode
	flags  uint32 // the argument with flags of open, which say whether the mode is used; 0 means always
	exists bool   // the file exists: the call needs no right of Landlock
}

// modeCalls are the calls by which a file gets a mode. mkdir ignores the bits of setID.
func modeCalls() []modeCall {
	return append(modeCallsOfArch(),
		modeCall{number: unix.SYS_OPENAT, mode: 3, flags: 2},
		modeCall{number: unix.SYS_FCHMOD, mode: 1, exists: true},
		modeCall{number: unix.SYS_FCHMODAT, mode: 2, exists: true},
		modeCall{number: unix.SYS_FCHMODAT2, mode: 2, exists: true},
		modeCall{number: unix.SYS_MKNODAT, mode: 2},
	)
}

// refuseSetID returns the instructions that refuse a mode with setID. The number of the
// call is loaded before them. With outside the program sees files that it may not write: the
// helper sets the modes of those that it may.
func refuseSetID(c modeCall, outside bool) []bpf.Instruction {
	load := func(n uint32) bpf.Instruction {
		return bpf.LoadAbsolute{Off: dataArgs + 8*n, Size: 4}
	}
	allow := bpf.RetConstant{Val: seccompAllow}
	if outside && c.exists {
		allow.Val = seccompAsk
	}
	check := []bpf.Instruction{
		load(c.mode),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: setID, SkipFalse: 1},
		bpf.RetConstant{Val: seccompEPERM},
	}
	if c.flags > 0 {
		creates := bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.O_CREAT | tmpFile, SkipFalse: uint8(len(check))}
		check = append([]bpf.Instruction{load(c.flags), creates}, check...)
	}
	check = append(check, allow)
	isCall := bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.number, SkipFalse: uint8(len(check))}
	return append([]bpf.Instruction{isCall}, check...)
}

// reservations are the commands of ioctl that reserve space of a file system, or have each
// write reserve more than it writes: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE and
// FS_IOC_FSSETXATTR.
var reservations = []uint32{0x40305828, 0x4030582a, 0x40305839, 0x401c5820}

// refuseReservations returns the instructions that refuse fallocate unless it frees space.
// The kernel counts what a process writes, and not what it reserves. A file system without the
// call has the same error: the C library of GNU then writes instead.
func refuseReservations() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_FALLOCATE, SkipFalse: 5},
		bpf.LoadAbsolute{Off: dataArgs + 8, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.FALLOC_FL_PUNCH_HOLE, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.FALLOC_FL_COLLAPSE_RANGE, SkipTrue: 1},
		bpf.RetConstant{Val: seccompErrno | uint32(unix.EOPNOTSUPP)},
		bpf.RetConstant{Val: seccompAllow},
	}
}

// attributeCalls set attributes of files, for which Landlock has no right. A file system
// without attributes has the same error.
func attributeCalls() []uint32 {
	return []uint32{
		unix.SYS_SETXATTR,
		unix.SYS_LSETXATTR,
		unix.SYS_FSETXATTR,
		unix.SYS_REMOVEXATTR,
		unix.SYS_LREMOVEXATTR,
		unix.SYS_FREMOVEXATTR,
		setXattrAt,
		removeXattrAt,
	}
}

// System calls of Linux 6.13.
const (
	setXattrAt    = 463
	removeXattrAt = 466
)

// argument is a value that an argument of a call must have.
type argument struct{ number, value uint32 }

// ownProcessCalls are the calls about the scheduling of processes, with the arguments that
// name the caller.
func ownProcessCalls() map[uint32][]argument {
	return map[uint32][]argument{
		unix.SYS_SETPRIORITY: {{0, unix.PRIO_PROCESS}, {1, 0}}, unix.SYS_IOPRIO_SET: {{0, ioprioProcess}, {1, 0}},
		unix.SYS_SCHED_SETAFFINITY: {{0, 0}}, unix.SYS_SCHED_SETSCHEDULER: {{0, 0}}, unix.SYS_SCHED_SETPARAM: {{0, 0}}, unix.SYS_SCHED_SETATTR: {{0, 0}},
	}
}

const ioprioProcess = 1 // IOPRIO_WHO_PROCESS

// refuseOutside returns the instructions that refuse what reaches files and processes outside
// of the sandbox where no namespace hides them.
func refuseOutside() []bpf.Instruction {
	var out []bpf.Instruction
	refuse := func(n, with uint32) {
		out = append(
			out,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: n, SkipFalse: 1},
			bpf.RetConstant{Val: with},
		)
	}
	for _, n := range attributeCalls() {
		refuse(n, seccompErrno|uint32(unix.EOPNOTSUPP))
	}
	for _, n := range append(ownerCallsOfArch(), unix.SYS_FCHOWN, unix.SYS_FCHOWNAT) {
		refuse(n, seccompEPERM)
	}
	calls := ownProcessCalls()
	for _, n := range slices.Sorted(maps.Keys(calls)) {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: n, SkipFalse: uint8(3*len(calls[n]) + 1)})
		for _, a := range calls[n] {
			out = append(out, bpf.LoadAbsolute{Off: dataArgs + 8*a.number, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.value, SkipTrue: 1}, bpf.RetConstant{Val: seccompEPERM})
		}
		out = append(out, bpf.RetConstant{Val: seccompAllow})
	}
	return out
}

// flagsOfFiles is the command of ioctl that sets attributes of a file such as immutable:
// FS_IOC_SETFLAGS. It needs no right to write.
const flagsOfFiles = 0x40086602

// seccompFilter returns the instructions of a filter, in the form of confine.Spec.
// Without executes, files in memory that could be started as programs do not exist. With
// outside, files and processes outside of the sandbox are visible.
func seccompFilter(net string, sockets, executes, outside bool) ([]uint64, error) {
	ret := func(v uint32) bpf.Instruction {
		return bpf.RetConstant{Val: v}
	}
	load := func(off uint32) bpf.Instruction {
		return bpf.LoadAbsolute{Off: off, Size: 4}
	}
	unlessEqual := func(v uint32, skip uint8) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: skip}
	}
	p := []bpf.Instruction{
		load(dataArch), bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1}, ret(seccompKill),
		load(dataNumber),
	}
	if x32Bit != 0 { // another calling convention of the same architecture, with its own numbers
		p = append(
			p,
			bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1},
			ret(seccompEPERM),
		)
	}
	p = append(
		p,
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: lastCall, SkipFalse: 1},
		ret(seccompErrno|uint32(unix.ENOSYS)),
	)
	for _, n := range refusedCalls() {
		p = append(p, unlessEqual(n, 1), ret(seccompEPERM))
	}
	// The flags of clone3 are in memory, which a filter does not see. Programs use clone
	// if it does not exist.
	p = append(p, unlessEqual(unix.SYS_CLONE3, 1), ret(seccompErrno|uint32(unix.ENOSYS)))
	// So is the mode of openat2.
	p = append(p, unlessEqual(unix.SYS_OPENAT2, 1), ret(seccompErrno|uint32(unix.ENOSYS)))
	for _, c := range modeCalls() {
		p = append(p, refuseSetID(c, outside)...)
	}
	commands := append([]uint32{unix.TIOCSTI, unix.TIOCLINUX}, reservations...)
	if outside {
		p = append(p, refuseOutside()...)
		commands = append(commands, flagsOfFiles)
	}
	p = append(p, unlessEqual(unix.SYS_CLONE, 4), load(dataArgs),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipFalse: 1}, ret(seccompEPERM), ret(seccompAllow))
	p = append(p, refuseReservations()...)
	p = append(
		p,
		unlessEqual(unix.SYS_IOCTL, uint8(2+2*len(commands))),
		load(dataArgs+8),
	)
	for _, c := range commands {
		p = append(p, unlessEqual(c, 1), ret(seccompEPERM))
	}
	p = append(p, ret(seccompAllow))
	// With the helper's own limits too low, it would end and leave processes behind.
	p = append(p, unlessEqual(unix.SYS_PRLIMIT64, 4), load(dataArgs),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}, ret(seccompEPERM), ret(seccompAllow))
	if !executes {
		// Landlock has no rule for a file without a path. MFD_NOEXEC_SEAL is permitted.
		p = append(p, unlessEqual(unix.SYS_MEMFD_CREATE, 4), load(dataArgs+8),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MFD_NOEXEC_SEAL, SkipTrue: 1}, ret(seccompEPERM), ret(seccompAllow))
	}
	list := families(net, sockets)
	p = append(
		p,
		unlessEqual(unix.SYS_SOCKET, uint8(2+2*len(list))),
		load(dataArgs),
	)
	for _, f := range list {
		p = append(p, unlessEqual(f, 1), ret(seccompAllow))
	}
	p = append(p, ret(seccompEPERM), ret(seccompAllow))
	raw, err := bpf.Assemble(p)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(raw))
	for i, r := range raw {
		out[i] = uint64(r.Op)<<48 | uint64(r.Jt)<<40 | uint64(r.Jf)<<32 | uint64(r.K)
	}
	return out, nil
}
