package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/atomicfile"
)

// store is the directory of the index in the cache:
//
//	KEY/state         the segments and files of the index of one root
//	KEY/NAME.seg      its segments, named by their content
//	KEY.seg           the only segment of a bundle, keyed by the bundle's digest
//	KEY/lock, lock    held while something is written
//
// Readers take no lock: files are replaced, never changed, and items without an
// index are read again. A writer that finds the lock held writes nothing; a later
// query writes the index.
type store struct {
	dir string // "" keeps nothing
}

// folderName is the directory of the index in the cache. Another format has
// another name.
const folderName = "search-1"

// unused is the age at which a file of the index is removed when another file is
// written. It is written again when it is needed.
const unused = 60 * 24 * time.Hour

// key returns the name for an index that depends on all of the words.
func (s store) key(f *fields, build string, words ...string) string {
	h := sha256.New()
	h.Write(f.print[:])
	for _, w := range append([]string{build}, words...) {
		h.Write([]byte{0})
		h.Write([]byte(w))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (s store) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

// base returns the base for writing. The temporary files are next to the index: forget
// and discard remove what is in its directory.
func (s store) base() atomicfile.Base {
	return atomicfile.Private(filepath.Dir(s.dir)).Below(filepath.Base(s.dir))
}

// load returns the last written index of a root, an empty one if there is none
// that can be used.
func (s store) load(f *fields, key string) *rootIndex {
	if s.dir == "" {
		return &rootIndex{}
	}
	for range 2 { // a writer may have replaced the state since it was read
		data, err := readWhole(s.path(key, "state"))
		if err != nil {
			break
		}
		h, ok := decodeState(data, func(name string) (*segment, bool) {
			return s.segment(f, key, name)
		})
		if ok {
			return h
		}
	}
	return &rootIndex{}
}

// segment opens one segment of a root.
func (s store) segment(f *fields, key, name string) (*segment, bool) {
	if name == "" || strings.ContainsAny(name, `/\.`) {
		return nil, false
	}
	seg, ok := s.open(f, s.path(key, name+".seg"))
	if ok {
		seg.kept = true
	}
	return seg, ok
}

func (s store) open(f *fields, path string) (*segment, bool) {
	data, err := readWhole(path)
	if err != nil {
		return nil, false
	}
	return openSegment(data, f)
}

// segmentName names a segment by its content.
func segmentName(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:16])
}

// save writes the index of a root unless another process is writing. It reports
// whether it did; a failure is not an error, since the index is a cache.
func (s store) save(ctx context.Context, key string, h *rootIndex, now time.Time) bool {
	release, ok := s.lock(ctx, key)
	if !ok {
		return false
	}
	defer release()
	names := make([]string, len(h.segs))
	keep := map[string]bool{}
	for i, seg := range h.segs {
		names[i] = segmentName(seg.data)
		keep[names[i]+".seg"] = true
		if !seg.write(s, path.Join(key, names[i]+".seg")) {
			return false
		}
	}
	if s.base().Replace(path.Join(key, "state"), encodeState(h, names), 0o600) != nil {
		return false
	}
	s.clean(key, keep)
	s.forget(now)
	return true
}

// lock takes the lock of a directory if it is free.
func (s store) lock(ctx context.Context, key string) (release func(), ok bool) {
	if s.dir == "" {
		return nil, false
	}
	at, stop := context.WithCancel(ctx)
	stop() // so Acquire tries once and does not wait
	l, err := s.base().Lock(at, path.Join(key, "lock"))
	if err != nil {
		return nil, false
	}
	return func() { _ = l.Release() }, true
}

// write writes a segment unless its file exists. Another writer may have removed
// it since it was read.
func (s *segment) write(in store, rel string) bool {
	fi, err := os.Lstat(in.path(filepath.FromSlash(rel)))
	if s.kept &&
		err == nil &&
		fi.Mode().IsRegular() &&
		fi.Size() == int64(len(s.data)) {
		return true
	}
	s.kept = in.base().Replace(rel, []byte(s.data), 0o600) == nil
	return s.kept
}

// clean removes the segments that the state does not list, and the temporary
// files of earlier versions. The caller holds the lock, so no other process is
// writing.
func (s store) clean(key string, keep map[string]bool) {
	entries, err := os.ReadDir(s.path(key))
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if atomicfile.Temporary(name) || strings.HasSuffix(name, ".seg") && !keep[name] {
			_ = s.base().Remove(path.Join(key, name)) // fails while open on Windows; the next writer tries again
		}
	}
}

// forget removes the indexes that were not written for a long time: indexes of removed
// projects and of older extractors and programs.
func (s store) forget(now time.Time) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		last := s.path(e.Name())
		if e.IsDir() {
			last = s.path(e.Name(), "state")
		}
		fi, err := os.Stat(last)
		if err != nil ||
			e.Name() == "lock" ||
			now.Sub(fi.ModTime()) < unused {
			continue
		}
		_ = s.base().RemoveAll(e.Name())
	}
}

// discard removes the whole index.
func (s store) discard() {
	if s.dir != "" {
		_ = atomicfile.Private(filepath.Dir(s.dir)).RemoveAll(filepath.Base(s.dir)) // a file that remains is replaced by the next reader that finds it damaged
	}
}

// loadFixed opens the segment of a bundle.
func (s store) loadFixed(f *fields, key string) (*segment, bool) {
	if s.dir == "" {
		return nil, false
	}
	return s.open(f, s.path(key+".seg"))
}

// saveFixed writes the segment of a bundle.
func (s store) saveFixed(key string, seg *segment) {
	if s.dir == "" {
		return
	}
	_ = s.base().Replace(key+".seg", []byte(seg.data), 0o600) // a failure only costs the next reader time
}
