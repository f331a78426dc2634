//go:build unix && !linux

package proc

import "syscall"

// dieWithUs does nothing: this system does not signal a program when its parent
// ends.
func dieWithUs(*syscall.SysProcAttr, bool) {}
