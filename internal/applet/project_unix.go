//go:build unix

package applet

import "syscall"

// openFlags keeps an open of a pipe, swapped in for a file, from waiting.
const openFlags = syscall.O_NONBLOCK

// plainName reports whether one path component is an ordinary name.
func plainName(string) bool { return true }
