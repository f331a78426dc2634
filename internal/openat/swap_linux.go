package openat

import (
	"os"

	"golang.org/x/sys/unix"
)

// Swap renames newPath, which must exist, to aside, and oldPath to newPath. If the
// file system supports it, newPath exists at every moment.
func Swap(oldPath, newPath, aside string) error {
	if unix.Renameat2(unix.AT_FDCWD, oldPath, unix.AT_FDCWD, newPath, unix.RENAME_EXCHANGE) == nil {
		return os.Rename(oldPath, aside)
	}
	return swapByRename(oldPath, newPath, aside)
}
