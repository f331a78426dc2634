// Package filestamp finds out that files changed, without reading them.
package filestamp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// slack is how much earlier than the clock a file system may date a change.
const slack = 20 * time.Millisecond

// Set is what is known of files and directories at one time.
type Set struct {
	taken time.Time // before anything that depends on the files was read
	files map[string]stamp
}

// stamp is the state of a file; zero: the file does not exist.
type stamp struct {
	size, modified, changed int64
	inode                   uint64
	mode                    fs.FileMode
}

func stampOf(fi fs.FileInfo) stamp {
	s := stamp{size: fi.Size(), modified: fi.ModTime().UnixNano(), mode: fi.Mode()}
	s.changed, s.inode = Change(fi)
	return s
}

// Take returns the state of paths: of a file, of a directory with everything below it.
// Links are followed, and a path may be absent. since is a time before the first of them
// was read.
func Take(since time.Time, paths []string) *Set {
	s := &Set{taken: since, files: map[string]stamp{}}
	for _, path := range paths {
		s.add(path, 0)
	}
	return s
}

// maxDepth bounds directories, and links that lead upwards.
const maxDepth = 16

func (s *Set) add(path string, depth int) {
	if _, known := s.files[path]; known || depth > maxDepth {
		return
	}
	fi, err := os.Stat(path)
	if err != nil {
		s.files[path] = absent(err)
		return
	}
	s.files[path] = stampOf(fi)
	if !fi.IsDir() {
		return
	}
	list, _ := os.ReadDir(path) // a directory that becomes readable changes
	for _, e := range list {
		s.add(filepath.Join(path, e.Name()), depth+1)
	}
}

// absent is the stamp of a file that cannot be examined.
func absent(err error) stamp {
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}
	}
	return stamp{size: -1}
}

// Same reports whether nothing changed since the time of Take. It is false also if a
// file changed so shortly before that a later change could have the same time.
func (s *Set) Same() bool {
	recent := s.taken.Add(-slack).UnixNano()
	for path, was := range s.files {
		if max(was.modified, was.changed) >= recent {
			return false
		}
		fi, err := os.Stat(path)
		now := absent(err)
		if err == nil {
			now = stampOf(fi)
		}
		if now != was {
			return false
		}
	}
	return true
}
