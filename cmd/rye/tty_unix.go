//go:build unix

package main

import "os"

// openTerminal opens the terminal that controls this process, if it has one.
func openTerminal() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }
