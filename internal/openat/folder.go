package openat

import (
	"io/fs"
	"path"
	"path/filepath"
	"strconv"

	"github.com/ryeos/rye/diag"
)

// Folder is an open directory to write in. Its methods take the name of one of its
// entries, never a path, and follow no link. On Linux and macOS they work on the
// descriptor: a directory that is replaced by a link after it was opened changes
// nothing. Elsewhere they work on its path, and only the check in Sub, of each
// element, refuses links.
type Folder struct {
	path string // for errors, and for systems without openat
	rel  string // below the trusted directory, "." for it
	handle
}

// Path returns the path of the directory.
func (f *Folder) Path() string {
	return f.path
}

// RemoveAll removes the file or directory at a path, also a tree with directories that their
// owner may not read or write. Links above its last element are followed, no link below: what
// a program exchanges for a link meanwhile is removed as a link. A path that does not exist is
// not an error.
func RemoveAll(path string) error {
	dir, err := OpenFolder(filepath.Dir(path))
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for range 3 { // a program may add files meanwhile
		if err = dir.RemoveAll(filepath.Base(path)); err == nil {
			return nil
		}
	}
	return err
}

// child returns the folder of an entry, or of a path below f, that h is open on.
func (f *Folder) child(rel string, h handle) *Folder {
	return &Folder{path: filepath.Join(f.path, filepath.FromSlash(rel)), rel: path.Join(f.rel, rel), handle: h}
}

// linkError returns the error for a link below the trusted directory. target is
// where it leads, "" if that is unknown.
func linkError(link, target string) *diag.Error {
	where := ""
	if target != "" {
		where = " to " + strconv.Quote(target)
	}
	return diag.New(diag.PathEscape, "%s is a link%s", strconv.Quote(link), where).
		WithReason("link").WithDetail("link", link).WithDetail("target", target)
}

// notFolderError returns the error for a file where a directory must be.
func notFolderError(rel string) *diag.Error {
	return diag.New(diag.FileSystemError, "%s is not a directory", strconv.Quote(rel)).
		WithReason("not_directory").
		WithDetail("entry", rel)
}

func pathError(op string, f *Folder, name string, err error) error {
	return &fs.PathError{Op: op, Path: filepath.Join(f.path, filepath.FromSlash(name)), Err: err}
}

// checkFile returns an error unless an entry is a regular file or does not exist.
// It returns the permission bits, 0 if there is no such entry.
func (f *Folder) checkFile(name string) (fs.FileMode, error) {
	mode, err := f.Stat(name)
	if err != nil {
		return 0, err
	}
	return mode.Perm(), f.typeError(name, mode.Type())
}

// CheckFile returns the permission bits of a regular file, 0 if the name does not
// exist. A link is PATH_ESCAPE, anything else NOT_REGULAR.
func (f *Folder) CheckFile(name string) (fs.FileMode, error) {
	perm, err := f.checkFile(name)
	if isMissing(err) {
		return 0, nil
	}
	return perm, err
}

func (f *Folder) typeError(name string, t fs.FileMode) error {
	rel := path.Join(f.rel, name)
	switch {
	case t == 0:
		return nil
	case t&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return linkError(rel, f.readLink(name))
	}
	return diag.New(diag.NotRegular, "%s is a %s, not a regular file", strconv.Quote(rel), kindOf(t)).
		WithReason("not_file").WithDetail("entry", rel)
}
