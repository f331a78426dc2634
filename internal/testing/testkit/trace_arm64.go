//go:build linux

package testkit

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var archChanges = map[uint64]change{unix.SYS_RENAMEAT: {"rename", inToAt}}
