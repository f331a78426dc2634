package cas

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/openat"
)

const (
	temporary = ".tmp-"
	stale     = time.Hour
)

// build writes e to a temporary directory and renames it. It is not an error if
// another process was faster: the caller inspects the result.
func (s *Store) build(parent, key string, found state, e *entry) error {
	s.sweep.Do(s.sweepAll)
	tmp, err := os.MkdirTemp(parent, temporary+"*") // in the same parent, because a read-only directory cannot be moved to another
	if err != nil {
		return err
	}
	defer discard(tmp)
	if err := e.write(tmp); err != nil {
		return err
	}
	target := filepath.Join(parent, key)
	if found == absent {
		os.Rename(tmp, target)
		return nil
	}
	aside := tmp + ".old"
	defer discard(aside)
	openat.Swap(tmp, target, aside)
	return nil
}

// write writes the files to the new directory dir, syncs it and makes it
// read-only.
func (e *entry) write(dir string) error {
	for sub := range e.dirs {
		err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o700)
		if err != nil {
			return err
		}
	}
	for _, f := range e.files {
		err := writeFile(filepath.Join(dir, filepath.FromSlash(f.Rel)), f)
		if err != nil {
			return err
		}
	}
	for sub := range e.dirs {
		err := seal(filepath.Join(dir, filepath.FromSlash(sub)))
		if err != nil {
			return err
		}
	}
	return seal(dir)
}

func writeFile(path string, f TreeFile) (err error) {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := w.Close(); err == nil {
			err = e
		}
	}()
	if _, err = w.Write(f.Bytes); err != nil {
		return err
	}
	if err = w.Chmod(modeOf(f)); err != nil {
		return err
	}
	return w.Sync()
}

// seal syncs a directory and makes it read-only. Windows supports neither.
func seal(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Chmod(0o555); err != nil {
		return err
	}
	return d.Sync()
}

// discard removes a directory of the store, with read-only directories in it. A
// directory that cannot be removed now is swept later.
func discard(path string) {
	_ = openat.RemoveAll(path)
}

// sweepAll removes temporary directories of killed processes.
func (s *Store) sweepAll() {
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	for _, kind := range []string{items, trees, snapshots} {
		_ = s.in(kind, func(dir *openat.Folder) error {
			des, err := dir.Entries()
			for _, de := range des {
				if !strings.HasPrefix(de.Name(), temporary) {
					continue
				}
				fi, err := de.Info()
				if err == nil && now().Sub(fi.ModTime()) > stale {
					_ = dir.RemoveAll(de.Name())
				}
			}
			return err
		})
	}
}

// in calls fn with an open directory of the store, which is not a link.
func (s *Store) in(kind string, fn func(*openat.Folder) error) error {
	root, err := openat.OpenFolder(s.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Sub(kind, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return fn(dir)
}
