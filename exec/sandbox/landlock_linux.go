package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/ryeos/rye/exec/sandbox/confine"
)

// Rights of Landlock. The names of the kernel begin with LANDLOCK_ACCESS_.
const (
	fsExecute   = unix.LANDLOCK_ACCESS_FS_EXECUTE
	fsReadFile  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	fsReadDir   = unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsWriteFile = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	fsMakeDev   = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	fsIoctl     = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fsOfFiles   = fsExecute | fsReadFile | fsWriteFile | fsIoctl
	fsWrite     = 1<<15 - 1 - fsExecute - fsMakeDev // everything up to ABI 3 but devices
)

// landlockABI returns the version of Landlock of the kernel, 0 without.
func landlockABI() int {
	v, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return 0
	}
	return int(v)
}

// handled returns the rights that a kernel knows: all of them are refused but for
// rules.
func handled(abi int) uint64 {
	switch {
	case abi >= 5:
		return 1<<16 - 1
	case abi >= 3:
		return 1<<15 - 1
	case abi == 2:
		return 1<<14 - 1
	}
	return 1<<13 - 1
}

// newRuleset returns a ruleset without rules for a network mode.
func newRuleset(abi int, net string) *confine.Ruleset {
	r := &confine.Ruleset{ABI: abi, FS: handled(abi)}
	if net == "none" && abi >= 4 {
		r.Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 6 {
		r.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return r
}

// grant adds a rule. The rights of directories cannot be granted for files.
func grant(r *confine.Ruleset, path string, isDir bool, access uint64) {
	access &= r.FS
	if !isDir {
		access &= fsOfFiles
	}
	r.Rules = append(r.Rules, confine.Rule{Path: path, Access: access})
}
