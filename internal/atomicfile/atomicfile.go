// Package atomicfile writes files so that a reader, or a crash, sees the old
// content or the new one and nothing between.
//
// It decides nothing about where a file may be written and follows no links:
// a link at the target is refused. It does not lock; two writers leave one of
// their two files.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
)

// Prefix begins the name of every temporary file, so that a walk can skip one
// and a cleaner can recognise what a crash left behind.
const Prefix = ".rye-tmp-"

// Write replaces the content of path, or creates it. The data is written to a
// temporary file in the same directory, flushed to the disk, and renamed. perm
// 0 keeps the permission bits of an existing file and means 0644 for a new
// one; as with os.WriteFile, the umask applies to bits that are asked for.
func Write(path string, data []byte, perm fs.FileMode) error { return write(path, data, perm, true) }

// Replace is Write without waiting for the disk, for content that is stored
// elsewhere too: after a loss of power the file may be empty.
func Replace(path string, data []byte, perm fs.FileMode) error { return write(path, data, perm, false) }

func write(path string, data []byte, perm fs.FileMode, flush bool) error {
	keep, err := existing(path)
	if err != nil {
		return err
	}
	if perm != 0 {
		keep = 0
	} else if perm = keep; perm == 0 {
		perm = 0o644
	}
	dir := filepath.Dir(path)
	tmp := filepath.Join(dir, Prefix+rand.Text())
	if err := create(tmp, data, perm.Perm(), keep.Perm(), flush); err != nil {
		return failed(path, err)
	}
	if err := rename(tmp, path); err != nil {
		return failed(path, errors.Join(err, os.Remove(tmp)))
	}
	if !flush {
		return nil
	}
	if err := syncDir(dir); err != nil {
		return failed(path, err)
	}
	return nil
}

// CreateExclusive creates path with data and refuses when anything, a link
// too, has that name already; the error then wraps fs.ErrExist.
func CreateExclusive(path string, data []byte, perm fs.FileMode) error {
	if err := create(path, data, perm.Perm(), 0, true); err != nil {
		return failed(path, err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return failed(path, err)
	}
	return nil
}

// existing returns the permission bits of the regular file at path, 0 when
// nothing is there.
func existing(path string) (fs.FileMode, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, failed(path, err)
	case !info.Mode().IsRegular():
		return 0, diag.New(diag.NotRegular, "writing %s: it is not a regular file", path)
	}
	return info.Mode().Perm(), nil
}

// create makes a new file and leaves none behind when it fails. exact bits,
// unless 0, are set past the umask.
func create(path string, data []byte, perm, exact fs.FileMode, flush bool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && exact != 0 {
		err = os.Chmod(path, exact)
	}
	if err == nil && flush {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func failed(path string, err error) error {
	return diag.New(diag.FileSystemError, "writing %s: %w", path, err)
}
