package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const (
	exclusive     = 2
	failAtOnce    = 1
	lockViolation = syscall.Errno(33)
)

func try(f *os.File) error { return lock(f, exclusive|failAtOnce) }

// share takes the lock together with others that share it.
func share(f *os.File) error { return lock(f, failAtOnce) }

func unlock(f *os.File) error {
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("UnlockFileEx")
	var at syscall.Overlapped
	if ok, _, err := proc.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&at))); ok == 0 {
		return err
	}
	return nil
}

// wait returns when it has the lock.
func wait(f *os.File) error { return lock(f, exclusive) }

func lock(f *os.File, flags uintptr) error {
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")
	var at syscall.Overlapped
	ok, _, err := proc.Call(f.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if ok != 0 {
		return nil
	}
	if errors.Is(err, lockViolation) || errors.Is(err, syscall.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return err
}
