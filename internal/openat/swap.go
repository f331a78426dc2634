package openat

import "os"

// swapByRename renames newPath to aside and oldPath to newPath. Between the two steps
// newPath does not exist.
func swapByRename(oldPath, newPath, aside string) error {
	if err := os.Rename(newPath, aside); err != nil {
		return err
	}
	return os.Rename(oldPath, newPath)
}
