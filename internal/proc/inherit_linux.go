package proc

import (
	"math"

	"golang.org/x/sys/unix"
)

// keepInherited marks every descriptor that this process inherited so that no program
// gets it. The standard ones and the descriptors of Cmd.Files are copied for each program.
func keepInherited() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		keepListed("/proc/self/fd")
	}
}
