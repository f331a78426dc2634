package testkit

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenPTY returns both ends of a new pseudo-terminal.
func OpenPTY() (master, terminal *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		var n int
		if n, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN); err == nil {
			terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
		}
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
