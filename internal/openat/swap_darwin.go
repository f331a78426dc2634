package openat

import (
	"os"

	"golang.org/x/sys/unix"
)

// Swap puts oldPath in the place of newPath, which must exist, and what stood
// there at aside. Where the file system can, newPath exists all the time.
func Swap(oldPath, newPath, aside string) error {
	if unix.RenamexNp(oldPath, newPath, unix.RENAME_SWAP) == nil {
		return os.Rename(oldPath, aside)
	}
	return swapByRename(oldPath, newPath, aside)
}
