package testkit

import (
	"cmp"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY returns both ends of a new pseudo-terminal. Reads of the master can have a deadline.
func OpenPTY() (master, terminal *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	raw, err := master.SyscallConn() // Fd would take the deadlines from the file
	if err == nil {
		e := raw.Control(func(fd uintptr) {
			if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
				n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
			}
		})
		err = cmp.Or(err, e)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, terminal, err
}

// Echoes reports whether a terminal prints what is typed.
func Echoes(terminal *os.File) (bool, error) {
	t, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ECHO != 0, err
}

// Resize sets the columns and rows of a terminal.
func Resize(terminal *os.File, columns, rows int) error {
	return unix.IoctlSetWinsize(
		int(terminal.Fd()),
		unix.TIOCSWINSZ,
		&unix.Winsize{Col: uint16(columns), Row: uint16(rows)},
	)
}
