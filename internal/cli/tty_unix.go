//go:build unix

package cli

import "os"

// OpenTerminal opens the terminal that controls this process, if it has one.
func OpenTerminal() (*os.File, error) {
	return os.OpenFile("/dev/tty", os.O_RDWR, 0)
}
