//go:build unix

package project

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedPrivately reports whether a directory belongs to this user and other users
// have no access.
func ownedPrivately(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && fi.IsDir() && fi.Mode().Perm()&0o077 == 0 && int(st.Uid) == os.Getuid()
}

// ownFile reports whether a regular file belongs to this user or root and other
// users cannot write it.
func ownFile(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && fi.Mode().IsRegular() && fi.Mode().Perm()&0o022 == 0 && (st.Uid == 0 || int(st.Uid) == os.Getuid())
}
