package openat

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Clone makes a new file in a directory that shares the blocks of another file until one of
// them is written. The error satisfies errors.Is(err, errors.ErrUnsupported) if the file
// system cannot; then no file was made.
func Clone(dir *os.Root, name string, src *os.File) error {
	at, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer at.Close()
	if unix.Fclonefileat(int(src.Fd()), int(at.Fd()), name, unix.CLONE_NOOWNERCOPY) != nil {
		return errors.ErrUnsupported
	}
	return nil
}
