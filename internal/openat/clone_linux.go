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
	dst, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	if err != nil {
		err = errors.Join(errors.ErrUnsupported, dir.Remove(name))
	}
	return errors.Join(err, dst.Close())
}
