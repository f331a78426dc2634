// Package filelock serialises processes by a lock file: one process holds it at
// a time, and the operating system releases it when the holder dies.
//
// The lock is advisory and per open file, so two holders in one process wait
// for each other too. The file itself stays: it has no content and no meaning.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Lock is a held lock file.
type Lock struct{ f *os.File }

// errHeld is the error of the system call if another process holds the lock.
var errHeld = errors.New("another process holds it")

// Acquire waits until it holds the lock file at path or ctx ends. It creates the
// file and its directory. The order among waiting processes is not defined.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := try(f)
		if err == nil {
			return &Lock{f}, nil
		}
		if !errors.Is(err, errHeld) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if err := sleep(ctx, pause); err != nil {
			f.Close()
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
		}
	}
}

func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	return f, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release releases the lock.
func (l *Lock) Release() error { return l.f.Close() }
