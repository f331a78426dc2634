package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0
)

func refusedOfArch() []uint32 {
	return []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_NFSSERVCTL}
}

func modeCallsOfArch() []modeCall { return nil }

func ownerCallsOfArch() []uint32 { return nil }
