// Package openat reads files that must lie below a trusted folder: no link at
// any component, regular files with one name only, bounded, opened once.
//
// It is step 1 of the verification order (containment and open rules). It
// judges places, not contents: encoding, signatures and ids belong to others,
// and it never writes into the folders it reads.
package openat

import (
	"io/fs"
	"time"
)

// Info tells what was opened, taken from the open descriptor and never from
// the path.
type Info struct {
	Size    int64 // bytes read
	Mode    fs.FileMode
	ModTime time.Time // a fact for caches of presentation; verification never relies on it
	Device  uint64
	Inode   uint64 // 0 where the system has none
}

// Entry is one name met by Walk. Err is nil for plain files and directories;
// for everything else it is the *diag.Error that tells what is wrong with it:
// PATH_ESCAPE for links and names that are not canonical, NOT_REGULAR for
// pipes, sockets and devices, FILE_SYSTEM_ERROR for a directory that cannot be
// listed. Hard links show only when the file is read.
type Entry struct {
	Name string      // last element
	Type fs.FileMode // type bits only
	Err  error
}

// IsDir reports whether the entry is a directory.
func (e Entry) IsDir() bool { return e.Type == fs.ModeDir }

// Read returns the content of the file at rel below the trusted folder root.
// Links in root itself are followed, a link at any component of rel is
// PATH_ESCAPE, so whoever distrusts a folder names it in rel. Files above max
// bytes are TOO_LARGE; a missing file satisfies errors.Is(err, fs.ErrNotExist).
func Read(root, rel string, max int64) ([]byte, Info, error) {
	d, err := Open(root)
	if err != nil {
		return nil, Info{}, err
	}
	defer d.Close()
	return d.Read(rel, max)
}
