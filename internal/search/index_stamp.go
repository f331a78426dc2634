package search

import (
	"os"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/filestamp"
	"github.com/ryeos/rye/resolve/space"
)

// stamp is the metadata of a file that is available without opening it. If it did
// not change and is old enough, the content did not change.
type stamp struct {
	size, mtime, changed int64 // times in nanoseconds
	inode                uint64
	sig                  int64 // of a detached signature: its own times and size in one number
}

// settled is the age at which a file's times are sure to change with the next
// write. Some file systems have a resolution of two seconds.
const settled = 2 * time.Second

// stampOf returns the stamp of a file. ok is false if it is not a regular file or
// cannot be read.
func stampOf(root *space.Root, f file) (s stamp, ok bool) {
	fi, err := os.Lstat(root.Path(f.rel))
	if err != nil || !fi.Mode().IsRegular() {
		return s, false
	}
	s.size = fi.Size()
	s.mtime = fi.ModTime().UnixNano()
	s.changed, s.inode = filestamp.Change(fi)
	if !f.location.Type.Detached {
		return s, true
	}
	fi, err = os.Lstat(root.Path(f.rel + extract.DetachedExt))
	if err == nil {
		changed, inode := filestamp.Change(fi)
		s.mtime = max(s.mtime, fi.ModTime().UnixNano())
		s.changed = max(s.changed, changed)
		s.sig = fi.ModTime().UnixNano() ^ changed<<1 ^ int64(inode)<<2 ^ fi.Size()<<3 | 1
	}
	return s, true
}

// racy reports whether the file could change again and keep its stamp.
func (s stamp) racy(now time.Time) bool {
	return max(s.mtime, s.changed) > now.Add(-settled).UnixNano()
}
