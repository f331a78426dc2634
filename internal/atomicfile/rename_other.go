//go:build !windows

package atomicfile

import (
	"errors"
	"syscall"
)

// renamesOpen reports whether an open file can be renamed and removed.
const renamesOpen = true

func crossDevice(err error) bool {
	return errors.Is(err, syscall.EXDEV)
}
