package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32Bit    = 0x40000000
)

func refusedOfArch() []uint32 {
	return []uint32{
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_CREATE_MODULE, unix.SYS_USELIB,
		unix.SYS__SYSCTL, unix.SYS_NFSSERVCTL, unix.SYS_USTAT, unix.SYS_SYSFS,
	}
}

func modeCallsOfArch() []modeCall {
	return []modeCall{
		{number: unix.SYS_OPEN, mode: 2, flags: 1},
		{number: unix.SYS_CREAT, mode: 1},
		{number: unix.SYS_CHMOD, mode: 1, exists: true},
		{number: unix.SYS_MKNOD, mode: 1},
	}
}

func ownerCallsOfArch() []uint32 {
	return []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN}
}
