//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package proc

import "os"

// DropTyped does nothing on this system.
func DropTyped(*os.File) (line bool) { return false }
