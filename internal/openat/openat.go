// Package openat opens files below a trusted directory under the open rules: no
// link at any component, regular files only. Dir reads, with bounded size and one
// hard link, which is step 1 of the verification order; Folder writes.
//
// It does not check encoding, signatures or ids. Whole files are written by
// package atomicfile, which uses Folder.
package openat

import (
	"io/fs"
	"time"
)

// Info describes the opened file. It comes from the open descriptor, not from the
// path.
type Info struct {
	Size    int64 // bytes read
	Mode    fs.FileMode
	ModTime time.Time // for caches of views; verification does not use it
	Device  uint64
	Inode   uint64 // 0 on systems without inodes
}

// Entry is one name of a walk. Err is nil for regular files and directories, else a
// *diag.Error: PATH_ESCAPE for links and names that are not canonical, NOT_REGULAR
// for pipes, sockets and devices, FILE_SYSTEM_ERROR for a directory that cannot be
// listed. Hard links are detected only when the file is read.
type Entry struct {
	Name string      // last element
	Type fs.FileMode // type bits only
	Err  error
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool {
	return e.Type == fs.ModeDir
}

// Read returns the content of the file at rel below the trusted directory root. Links
// in root are followed; a link at any component of rel is PATH_ESCAPE, so an
// untrusted directory belongs in rel. A file larger than max bytes is TOO_LARGE; a
// missing file satisfies errors.Is(err, fs.ErrNotExist).
func Read(root, rel string, max int64) ([]byte, Info, error) {
	d, err := Open(root)
	if err != nil {
		return nil, Info{}, err
	}
	defer d.Close()
	return d.Read(rel, max)
}

// Same reports whether the file at rel below the trusted directory root has exactly this
// content. It opens it as Read does.
func Same(root, rel string, content []byte) (bool, error) {
	d, err := Open(root)
	if err != nil {
		return false, err
	}
	defer d.Close()
	return d.Same(rel, content)
}
