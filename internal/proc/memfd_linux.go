package proc

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Memfd returns a file in memory that holds b and that nobody, we included, can
// change again. Programs open it as /proc/self/fd/N through Cmd.ExtraFiles.
func Memfd(name string, b []byte) (*os.File, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_EXEC)
	switch err {
	case unix.EINVAL: // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	case unix.EACCES: // vm.memfd_noexec: an interpreter can still read it
		fd, err = unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "memfd:"+strconv.Quote(name))
	if err := fillAndSeal(f, fd, b); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func fillAndSeal(f *os.File, fd int, b []byte) error {
	if len(b) > 0 {
		if _, err := f.WriteAt(b, 0); err != nil { // the offset stays at the start
			return err
		}
	}
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return os.NewSyscallError("fcntl", err)
}
