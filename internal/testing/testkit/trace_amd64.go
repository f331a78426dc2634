//go:build linux

package testkit

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archChanges are the calls that newer architectures do not have.
var archChanges = map[uint64]change{
	unix.SYS_CREAT: {"create", inPath},
	unix.SYS_MKDIR: {"mkdir", inPath}, unix.SYS_RMDIR: {"unlink", inPath}, unix.SYS_UNLINK: {"unlink", inPath},
	unix.SYS_RENAME: {"rename", inTo}, unix.SYS_RENAMEAT: {"rename", inToAt}, unix.SYS_LINK: {"link", inTo},
	unix.SYS_SYMLINK: {"symlink", inTo}, unix.SYS_CHMOD: {"chmod", inPath},
}
