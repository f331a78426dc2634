//go:build unix

package openat

import (
	"io/fs"
	"os"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

type identity struct{ links, device, inode uint64 }

func identify(_ *os.File, fi fs.FileInfo) (identity, error) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, syscall.ENOTSUP
	}
	return identity{links: uint64(st.Nlink), device: uint64(st.Dev), inode: uint64(st.Ino)}, nil
}
