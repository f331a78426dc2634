package openat

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	sharingViolation = syscall.Errno(32)
	attempts         = 10
)

// unlessBusy repeats do. A virus scanner, an indexer or another process of rye that
// has a file open for a moment makes the first attempts fail.
func unlessBusy(do func() error) error {
	wait := time.Millisecond
	for i := 1; ; i++ {
		err := do()
		busy := errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, sharingViolation)
		if !busy || i == attempts {
			return err
		}
		time.Sleep(wait)
		wait *= 2
	}
}

// openShared is os.OpenRoot for a directory that others may rename and remove while it
// is open, as on other systems: os.OpenRoot itself does not share that, os.Root.OpenRoot
// does. Where the directory cannot be opened through its parent, it is not shared.
func openShared(dir string) (*os.Root, error) {
	if root, err := openThroughParent(dir); err == nil {
		return root, nil
	}
	return os.OpenRoot(dir)
}

func openThroughParent(dir string) (*os.Root, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil || filepath.Dir(real) == real { // the root of a drive
		return nil, errors.Join(err, os.ErrInvalid)
	}
	parent, err := os.OpenRoot(filepath.Dir(real))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return parent.OpenRoot(filepath.Base(real))
}
