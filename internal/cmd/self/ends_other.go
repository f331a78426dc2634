//go:build !windows

package self

import (
	"os"
	"syscall"
)

// endSignals are the signals that cancel a run.
func endSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM}
}
