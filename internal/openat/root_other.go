//go:build !windows

package openat

import "os"

// openShared opens a directory that others may rename and remove.
func openShared(dir string) (*os.Root, error) {
	return os.OpenRoot(dir)
}
