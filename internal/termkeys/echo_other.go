//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package termkeys

import "os"

// HideTyped does nothing on this system: a console echoes only what a program reads.
func HideTyped(*os.File) (show func()) { return func() {} }
