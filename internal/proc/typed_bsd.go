//go:build darwin || freebsd || netbsd || openbsd || dragonfly

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
		const readSide = 1 // FREAD
		var set unix.FdSet
		set.Set(int(fd))
		n, serr := unix.Select(int(fd)+1, &set, nil, nil, &unix.Timeval{}) // a terminal is readable when it has a line
		line = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, readSide) == nil && serr == nil && n > 0
	})
	return line
}
