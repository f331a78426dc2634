// Package filelock makes processes take turns: one holder of a lock file at a
// time, and a holder that dies lets go.
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

// errHeld is what the system's call returns when somebody else holds the lock.
var errHeld = errors.New("another process holds it")

// Acquire waits until it holds the lock file at path, which it creates with its
// folder, or until ctx ends. There is no order among those who wait.
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

// Release lets the next one in.
func (l *Lock) Release() error { return l.f.Close() }
