package openat

import (
	"os"

	"golang.org/x/sys/unix"
)

// Swap puts oldPath in the place of newPath, which must exist, and what stood
// there at aside. Where the file system can, newPath exists all the time.
func Swap(oldPath, newPath, aside string) error {
	if unix.Renameat2(unix.AT_FDCWD, oldPath, unix.AT_FDCWD, newPath, unix.RENAME_EXCHANGE) == nil {
		return os.Rename(oldPath, aside)
	}
	return swapByRename(oldPath, newPath, aside)
}
