package search

import (
	"os"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/resolve/space"
)

// stamp is what the system tells of a file without opening it. Where all of it
// is as before, and old enough, the content is as before.
type stamp struct {
	size, mtime, changed int64 // times in nanoseconds
	inode                uint64
	sig                  int64 // of a detached signature: its own times and size in one number
}

// settled is how old the last change of a file must be for its times to tell
// the next one. Some file systems count in steps of two seconds.
const settled = 2 * time.Second

// stampOf asks for the stamp of a file; ok is false for what is no plain file
// or cannot be looked at.
func stampOf(root *space.Root, f file) (s stamp, ok bool) {
	fi, err := os.Lstat(root.Path(f.rel))
	if err != nil || !fi.Mode().IsRegular() {
		return s, false
	}
	s.size, s.mtime = fi.Size(), fi.ModTime().UnixNano()
	s.changed, s.inode = identity(fi)
	if !f.place.Type.Detached {
		return s, true
	}
	if fi, err := os.Lstat(root.Path(f.rel + extract.DetachedExt)); err == nil {
		changed, inode := identity(fi)
		s.mtime, s.changed = max(s.mtime, fi.ModTime().UnixNano()), max(s.changed, changed)
		s.sig = fi.ModTime().UnixNano() ^ changed<<1 ^ int64(inode)<<2 ^ fi.Size()<<3 | 1
	}
	return s, true
}

// racy reports whether the file may change after a moment and keep its stamp.
func (s stamp) racy(now time.Time) bool {
	return max(s.mtime, s.changed) > now.Add(-settled).UnixNano()
}
