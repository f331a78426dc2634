// Package filelock serialises processes by a lock file: one process holds it at
// a time, and the operating system releases it when the holder dies.
//
// The lock is advisory and per open file, so two holders in one process wait
// for each other too. The callers open the file (atomicfile.Base.Lock): a lock file
// stays, it has no content and no meaning.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Lock is a held lock file.
type Lock struct{ f *os.File }

// ErrHeld is the error of Try if another holder has the lock.
var ErrHeld = errors.New("another process holds it")

// Held is the error of AcquireWithin when another process has the lock.
type Held struct {
	Path    string
	PID     int    // of the process that has it, 0 if unknown
	Program string // the name of that process, "" if unknown
}

// Error implements error.
func (e *Held) Error() string {
	return fmt.Sprintf("%s is locked by %s", e.Path, e.Holder())
}

// Holder describes the process that has the lock.
func (e *Held) Holder() string {
	switch {
	case e.PID == 0:
		return "another process"
	case e.Program == "":
		return fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("process %d (%s)", e.PID, e.Program)
}

// askersWait is how long AcquireWithin waits for callers of FreeWithin in addition, each of
// which has the file for less than a millisecond unless the system does not run it.
const (
	askersWait  = 20 * time.Second
	askersPause = 100 * time.Millisecond
)

// AcquireWithin is Acquire with a limit of the time to wait. After it the error is
// a *Held: a process that never releases the lock does not stop the caller forever.
// Processes that only ask by FreeWithin are not holders, and it waits longer for them.
func AcquireWithin(ctx context.Context, f *os.File, limit time.Duration) (*Lock, error) {
	for last := time.Now().Add(limit + askersWait); ; limit = askersPause {
		err, late := pollWithin(ctx, f, try, limit)
		if err == nil {
			return &Lock{f}, nil
		}
		if !late {
			f.Close()
			return nil, err
		}
		if share(f) != nil || time.Now().After(last) {
			break
		}
		if err := unlock(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("unlocking %s: %w", f.Name(), err)
		}
	}
	f.Close()
	return nil, heldBy(f)
}

func heldBy(f *os.File) *Held {
	held := &Held{Path: f.Name()}
	held.PID, held.Program = holder(held.Path)
	return held
}

// FreeWithin waits until no process holds the lock of f, for at most limit: the error is
// then a *Held. It does not take the lock, so that several callers can ask at a time, and
// closes f.
func FreeWithin(ctx context.Context, f *os.File, limit time.Duration) error {
	defer f.Close()
	err, late := pollWithin(ctx, f, share, limit)
	if late && err != nil {
		return heldBy(f)
	}
	return err
}

// pollWithin is poll with a limit, and late reports that it has passed. If the process that took the lock was killed, a
// program that it had just started can have a copy of its files until exec: pollWithin waits for that in addition.
func pollWithin(
	ctx context.Context,
	f *os.File,
	take func(*os.File) error,
	limit time.Duration,
) (err error, late bool) {
	for first := true; ; first = false {
		bounded, cancel := context.WithTimeout(ctx, limit)
		err = poll(bounded, f, take)
		late = bounded.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late || !first {
			return err, late
		}
		if limit = leaving(f.Name()); limit == 0 {
			return err, late
		}
	}
}

// Acquire waits until it holds the open file f or ctx ends. It closes f unless it
// returns a Lock. The order among waiting processes is not defined.
func Acquire(ctx context.Context, f *os.File) (*Lock, error) {
	if err := poll(ctx, f, try); err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// poll takes the lock in a way as soon as it can.
func poll(ctx context.Context, f *os.File, take func(*os.File) error) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := take(f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrHeld) {
			return fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if err := sleep(ctx, pause); err != nil {
			return fmt.Errorf("waiting for the lock %s: %w", f.Name(), err)
		}
	}
}

// Try takes the lock of an open file, until the file is closed, or returns ErrHeld.
// Another error means that the file system has no locks. A file that is closed without its lock being released first
// (see Release) can be held for a moment longer.
func Try(f *os.File) error {
	return try(f)
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
//
// Closing the file is not enough: a program that this process starts has, between fork and exec, a copy of every open file,
// and the lock lasts until the last copy is closed. Unlocking releases it for all copies.
func (l *Lock) Release() error {
	err := unlock(l.f)
	return errors.Join(err, l.f.Close())
}

// Share waits until it has the open file f together with others that share it, or ctx ends. It
// closes f unless it returns a Lock.
func Share(ctx context.Context, f *os.File) (*Lock, error) {
	err := poll(ctx, f, share)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Lock{f}, nil
}

// Free reports whether no holder has the lock of an open file, which it does not close.
func Free(f *os.File) (bool, error) {
	switch err := try(f); {
	case errors.Is(err, ErrHeld):
		return false, nil
	case err != nil:
		return false, fmt.Errorf(
			"locking %s: %w",
			f.Name(),
			err,
		)
	}
	// The file stays open: its lock is released for the next holder.
	err := unlock(f)
	if err != nil {
		err = fmt.Errorf(
			"unlocking %s: %w",
			f.Name(),
			err,
		)
	}
	return err == nil, err
}

// Wait is Acquire for locks that many processes take in turn for a moment: the
// operating system wakes the process when the lock is free, so no process sleeps
// while it is. Like Acquire, it closes f unless it returns a Lock.
func Wait(ctx context.Context, f *os.File) (*Lock, error) {
	err := try(f)
	if err == nil {
		return &Lock{f}, nil
	}
	if !errors.Is(err, ErrHeld) {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	locked := make(chan error, 1)
	go func() { locked <- wait(f) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		go func() { // a system call that waits for a lock cannot be ended
			<-locked
			f.Close()
		}()
		return nil, fmt.Errorf("waiting for the lock %s: %w", f.Name(), ctx.Err())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
	}
	return &Lock{f}, nil
}
