package filestamp

import (
	"io/fs"
	"syscall"
)

// Change returns the time of the last change of a file or its inode, which no
// program can set, and the inode's number.
func Change(fi fs.FileInfo) (changed int64, inode uint64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctim.Nano(), st.Ino
}
