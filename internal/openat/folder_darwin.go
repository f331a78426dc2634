package openat

import "golang.org/x/sys/unix"

func openDirect(dirfd int, rel string, flags int) (int, error) {
	return openByElement(dirfd, rel, flags)
}

func renameNew(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_EXCL)
}

func exchange(from int, name string, to int, newName string) error {
	return unix.RenameatxNp(from, name, to, newName, unix.RENAME_SWAP)
}

// unlock permits the owner of a directory everything. A link with the name is not followed.
func unlock(dirfd int, name string) error {
	return unix.Fchmodat(dirfd, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}
