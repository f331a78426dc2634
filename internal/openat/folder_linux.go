package openat

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// openDirect opens a path below a directory without following links, with openat2 if
// the kernel has it.
func openDirect(dirfd int, rel string, flags int) (int, error) {
	fd, err := openBeneath(dirfd, rel, flags)
	if err == unix.ENOSYS || err == unix.EPERM {
		return openByElement(dirfd, rel, flags)
	}
	return fd, err
}

func renameNew(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
}

func exchange(from int, name string, to int, newName string) error {
	return unix.Renameat2(from, name, to, newName, unix.RENAME_EXCHANGE)
}

// unlock permits the owner of a directory everything. It changes the directory that has the
// name now, never the target of a link: only with /proc can Linux do so before 6.6.
func unlock(dirfd int, name string) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dirfd, name, unix.O_PATH|openTo, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o700)
}
