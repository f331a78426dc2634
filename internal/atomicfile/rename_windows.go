package atomicfile

import (
	"errors"
	"syscall"
)

// renamesOpen is false: an open file cannot be renamed or removed.
const renamesOpen = false

const notSameDevice = syscall.Errno(17)

func crossDevice(err error) bool { return errors.Is(err, notSameDevice) }
