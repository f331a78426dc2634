package openat

import (
	"os"

	"golang.org/x/sys/unix"
)

// Swap renames newPath, which must exist, to aside, and oldPath to newPath. If the
// file system supports it, newPath exists at every moment.
func Swap(oldPath, newPath, aside string) error {
	if unix.RenamexNp(oldPath, newPath, unix.RENAME_SWAP) == nil {
		return os.Rename(oldPath, aside)
	}
	return swapByRename(oldPath, newPath, aside)
}
