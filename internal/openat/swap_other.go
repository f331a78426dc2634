//go:build !linux && !darwin

package openat

// Swap renames newPath, which must exist, to aside, and oldPath to newPath.
func Swap(oldPath, newPath, aside string) error { return swapByRename(oldPath, newPath, aside) }
