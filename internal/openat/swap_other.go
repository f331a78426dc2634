//go:build !linux && !darwin

package openat

// Swap puts oldPath in the place of newPath, which must exist, and what stood
// there at aside.
func Swap(oldPath, newPath, aside string) error { return swapByRename(oldPath, newPath, aside) }
