//go:build !linux && !darwin

package openat

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// handle is empty: without openat a Folder is a path.
type handle struct{}

// OpenFolder opens a trusted directory. Links in its path are followed.
func OpenFolder(dir string) (*Folder, error) {
	fi, err := os.Stat(dir)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "opening", Path: dir, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, err
	}
	return &Folder{path: dir, rel: "."}, nil
}

// Sub opens the directory at rel, "." for f itself. If perm is not 0 it creates the
// missing ones. A link at any element is PATH_ESCAPE.
func (f *Folder) Sub(rel string, perm fs.FileMode) (*Folder, error) {
	if rel == "." {
		return f, nil
	}
	if err := CheckRel(rel); err != nil {
		return nil, err
	}
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		mode, err := f.Stat(rel[:i])
		if isMissing(err) && perm != 0 {
			if err = os.Mkdir(f.at(rel[:i]), perm); err == nil || errors.Is(err, fs.ErrExist) {
				mode, err = f.Stat(rel[:i])
			}
		}
		switch {
		case err != nil:
			return nil, err
		case mode&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return nil, linkError(f.child(rel[:i], handle{}).rel, f.readLink(rel[:i]))
		case !mode.IsDir():
			return nil, notFolderError(f.child(rel[:i], handle{}).rel)
		}
	}
	if err := f.checkSpelled(rel); err != nil {
		return nil, err
	}
	return f.child(rel, handle{}), nil
}

func (f *Folder) at(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// Stat returns the type and the permission bits of an entry, without following it.
func (f *Folder) Stat(name string) (fs.FileMode, error) {
	fi, err := os.Lstat(f.at(name))
	if err != nil {
		return 0, err
	}
	return fi.Mode(), nil
}

func (f *Folder) readLink(name string) string {
	target, _ := os.Readlink(f.at(name))
	return target
}

// OpenFile opens an entry as os.OpenFile does. A link is PATH_ESCAPE and anything
// else that is not a regular file NOT_REGULAR.
func (f *Folder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_EXCL == 0 {
		if _, err := f.CheckFile(name); err != nil {
			return nil, err
		}
	}
	var file *os.File
	err := unlessBusy(func() (err error) {
		file, err = os.OpenFile(f.at(name), flag, perm)
		return err
	})
	return file, err
}

// Mkdir creates a directory.
func (f *Folder) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(f.at(name), perm) }

// Rename moves an entry to another folder and replaces what has the new name.
func (f *Folder) Rename(name string, to *Folder, newName string) error {
	return unlessBusy(func() error { return os.Rename(f.at(name), to.at(newName)) })
}

// RenameNew is Rename that fails with fs.ErrExist if the new name exists.
func (f *Folder) RenameNew(name string, to *Folder, newName string) error {
	if err := unlessBusy(func() error { return os.Link(f.at(name), to.at(newName)) }); err == nil {
		return f.Remove(name)
	} else if errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := to.Stat(newName); err == nil { // the file system has no hard links
		return &fs.PathError{Op: "creating", Path: to.at(newName), Err: fs.ErrExist}
	}
	return f.Rename(name, to, newName)
}

// Exchange gives an entry the name of an entry of another folder, and that one its
// name, in one step. It is not supported here.
func (f *Folder) Exchange(string, *Folder, string) error { return errors.ErrUnsupported }

// Remove removes a file, a link or an empty directory.
func (f *Folder) Remove(name string) error {
	return unlessBusy(func() error { return os.Remove(f.at(name)) })
}

// RemoveAll removes an entry with everything below it and follows no link. An entry
// that does not exist is not an error.
func (f *Folder) RemoveAll(name string) error {
	return unlessBusy(func() error { return os.RemoveAll(f.at(name)) })
}

// Entries lists the directory.
func (f *Folder) Entries() ([]fs.DirEntry, error) { return os.ReadDir(f.path) }

// Chmod changes the permission bits of the directory.
func (f *Folder) Chmod(perm fs.FileMode) error { return os.Chmod(f.path, perm) }

// Sync does nothing: directories cannot be flushed on Windows, and its file system
// journals names.
func (f *Folder) Sync() error { return nil }

// Close closes the directory.
func (f *Folder) Close() error { return nil }

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// FolderOf returns the Folder of an open directory and takes over the file.
func FolderOf(dir *os.File) *Folder {
	_ = dir.Close()
	return &Folder{path: dir.Name(), rel: "."}
}
