//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedPrivately reports whether a folder belongs to this user and nobody else
// may enter it.
func ownedPrivately(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && fi.IsDir() && fi.Mode().Perm()&0o077 == 0 && int(st.Uid) == os.Getuid()
}
