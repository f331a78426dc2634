package openat

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const (
	sharingViolation = syscall.Errno(32)
	attempts         = 10
)

// renameBusy replaces the target. A virus scanner or indexer that has either file
// open for a moment makes the first attempts fail.
func renameBusy(from, to string) error {
	wait := time.Millisecond
	for i := 1; ; i++ {
		err := os.Rename(from, to)
		busy := errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, sharingViolation)
		if !busy || i == attempts {
			return err
		}
		time.Sleep(wait)
		wait *= 2
	}
}
