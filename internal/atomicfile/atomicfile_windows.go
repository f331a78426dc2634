package atomicfile

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

// rename replaces the target. A virus scanner or indexer that has either file
// open for a moment makes the first attempts fail.
func rename(from, to string) error {
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

// syncDir does nothing: directories cannot be flushed here, and the file
// system journals names.
func syncDir(string) error { return nil }
