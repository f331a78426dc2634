//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

func try(f *os.File) error {
	return atOnce(f, syscall.LOCK_EX)
}

// share takes the lock together with others that share it.
func share(f *os.File) error {
	return atOnce(f, syscall.LOCK_SH)
}

func atOnce(f *os.File, how int) error {
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

func unlock(f *os.File) error {
	return flock(f, syscall.LOCK_UN)
}

// wait returns when it has the lock.
func wait(f *os.File) error {
	return flock(f, syscall.LOCK_EX)
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
