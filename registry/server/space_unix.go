//go:build linux || darwin

package server

import "syscall"

// unixModes reports whether files have the permission bits of Unix.
const unixModes = true

// freeSpace returns the bytes that this user can still write to a file system.
func freeSpace(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
