package openat

import "golang.org/x/sys/unix"

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
