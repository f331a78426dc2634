package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropTyped discards what was typed at a terminal and is not read yet, and reports whether
// a complete line was.
func DropTyped(terminal *os.File) (line bool) {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		line = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) == nil &&
			err == nil &&
			n > 0
	})
	return line
}
