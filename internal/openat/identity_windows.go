package openat

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

const nonblock = 0 // no file blocks an open on Windows

type identity struct{ links, device, inode uint64 }

func identify(f *os.File, _ fs.FileInfo) (identity, error) {
	var h windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &h); err != nil {
		return identity{}, err
	}
	return identity{
		links:  uint64(h.NumberOfLinks),
		device: uint64(h.VolumeSerialNumber),
		inode:  uint64(h.FileIndexHigh)<<32 | uint64(h.FileIndexLow),
	}, nil
}
