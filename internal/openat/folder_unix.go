//go:build linux || darwin

package openat

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// handle is the descriptor of a Folder, -1 after Close. It is not an *os.File, whose
// preparation for polling costs as much as a small write.
type handle struct{ desc int }

func (h handle) fd() int {
	return h.desc
}

// openTo are the flags of a Folder.
const openTo = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// OpenFolder opens a trusted directory. Links in its path are followed.
func OpenFolder(dir string) (*Folder, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "opening", Path: dir, Err: err}
	}
	return &Folder{path: dir, rel: ".", handle: handle{fd}}, nil
}

// Sub opens the directory at rel, "." for f itself. If perm is not 0 it creates the
// missing ones. A link at any element is PATH_ESCAPE.
func (f *Folder) Sub(rel string, perm fs.FileMode) (*Folder, error) {
	if rel != "." {
		if err := CheckRel(rel); err != nil {
			return nil, err
		}
	}
	fd, err := openDirect(f.fd(), rel, openTo)
	if err == unix.ENOENT && perm != 0 {
		fd, err = f.makeAll(rel, perm)
	}
	if err != nil {
		return nil, f.subError(rel, err)
	}
	if err := f.checkSpelled(rel); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return f.child(rel, handle{fd}), nil
}

// makeAll opens the elements of a path one by one and creates missing ones.
func (f *Folder) makeAll(rel string, perm fs.FileMode) (int, error) {
	at := f.fd()
	for {
		elem, rest, more := strings.Cut(rel, "/")
		open := func() (int, error) {
			return unix.Openat(at, elem, openTo, 0)
		}
		fd, err := retry(open)
		if err == unix.ENOENT {
			if err = unix.Mkdirat(at, elem, uint32(perm)); err == nil || err == unix.EEXIST {
				fd, err = retry(open)
			}
		}
		if at != f.fd() {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at = fd
		rel = rest
	}
}

// subError explains why a path could not be opened: by its first element that is
// not a directory, if there is one.
func (f *Folder) subError(rel string, cause error) error {
	if cause == unix.ELOOP || cause == unix.ENOTDIR || cause == unix.EXDEV {
		for i := 0; i <= len(rel); i++ {
			if i < len(rel) && rel[i] != '/' {
				continue
			}
			mode, err := f.Stat(rel[:i])
			switch {
			case err != nil:
				i = len(rel)
			case mode&fs.ModeSymlink != 0:
				return linkError(
					f.child(rel[:i], handle{}).rel,
					f.readLink(rel[:i]),
				)
			case !mode.IsDir():
				return notFolderError(f.child(rel[:i], handle{}).rel)
			}
		}
	}
	return pathError("opening", f, rel, cause)
}

// Stat returns the type and the permission bits of an entry, without following it.
func (f *Folder) Stat(name string) (fs.FileMode, error) {
	var st unix.Stat_t
	err := unix.Fstatat(f.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return 0, pathError("reading", f, name, err)
	}
	mode := fs.FileMode(st.Mode & 0o777)
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	return mode, nil
}

func (f *Folder) readLink(name string) string {
	b := make([]byte, 4096)
	n, err := unix.Readlinkat(f.fd(), name, b)
	if err != nil {
		return ""
	}
	return string(b[:n])
}

// OpenFile opens an entry as os.OpenFile does. A link is PATH_ESCAPE and anything
// else that is not a regular file NOT_REGULAR.
func (f *Folder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	flag |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	isNew := flag&unix.O_CREAT != 0 && flag&unix.O_EXCL != 0
	if !isNew {
		flag |= unix.O_NONBLOCK // opening a pipe must not block
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(f.fd(), name, flag, uint32(perm.Perm()))
	})
	if err != nil {
		_, other := f.checkFile(name)
		if other != nil && !isMissing(other) && !errors.Is(err, unix.EEXIST) {
			return nil, other
		}
		return nil, pathError("opening", f, name, err)
	}
	if isNew {
		return os.NewFile(uintptr(fd), f.path+"/"+name), nil
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		_, other := f.checkFile(name)
		return nil, errors.Join(err, other)
	}
	return os.NewFile(uintptr(fd), f.path+"/"+name), nil
}

// Mkdir creates a directory.
func (f *Folder) Mkdir(name string, perm fs.FileMode) error {
	err := unix.Mkdirat(f.fd(), name, uint32(perm.Perm()))
	if err != nil {
		return pathError("creating", f, name, err)
	}
	return nil
}

// Rename moves an entry to another folder and replaces what has the new name.
func (f *Folder) Rename(name string, to *Folder, newName string) error {
	err := unix.Renameat(f.fd(), name, to.fd(), newName)
	if err != nil {
		return pathError("creating", to, newName, err)
	}
	return nil
}

// RenameNew is Rename that fails with fs.ErrExist if the new name exists.
func (f *Folder) RenameNew(name string, to *Folder, newName string) error {
	err := renameNew(f.fd(), name, to.fd(), newName)
	if unsupported(err) {
		// Between the two steps the file has two names; readers refuse it.
		if err = unix.Linkat(f.fd(), name, to.fd(), newName, 0); err == nil {
			return f.Remove(name)
		}
		if unsupported(err) {
			if _, err := to.Stat(newName); err == nil {
				return pathError("creating", to, newName, unix.EEXIST)
			}
			return f.Rename(name, to, newName)
		}
	}
	if err != nil {
		return pathError("creating", to, newName, err)
	}
	return nil
}

// Exchange gives an entry the name of an entry of another folder, and that one its
// name, in one step. Not every file system supports it.
func (f *Folder) Exchange(name string, to *Folder, newName string) error {
	err := exchange(f.fd(), name, to.fd(), newName)
	if err != nil {
		return pathError("exchanging", to, newName, err)
	}
	return nil
}

func unsupported(err error) bool {
	return err == unix.EINVAL ||
		err == unix.ENOSYS ||
		err == unix.ENOTSUP ||
		err == unix.EOPNOTSUPP ||
		err == unix.EPERM
}

// Remove removes a file, a link or an empty directory.
func (f *Folder) Remove(name string) error {
	err := unix.Unlinkat(f.fd(), name, 0)
	if err == unix.EISDIR || err == unix.EPERM {
		dirErr := unix.Unlinkat(f.fd(), name, unix.AT_REMOVEDIR)
		if dirErr != unix.ENOTDIR {
			err = dirErr
		}
	}
	if err != nil {
		return pathError("removing", f, name, err)
	}
	return nil
}

// RemoveAll removes an entry with everything below it and follows no link. An entry
// that does not exist is not an error.
func (f *Folder) RemoveAll(name string) error {
	err := f.Remove(name)
	if err == nil || isMissing(err) {
		return nil
	}
	open := func() (int, error) {
		return unix.Openat(f.fd(), name, openTo, 0)
	}
	fd, openErr := retry(open)
	if openErr == unix.EACCES && unlock(f.fd(), name) == nil { // its owner may not read it
		fd, openErr = retry(open)
	}
	if openErr != nil {
		return err
	}
	dir := f.child(name, handle{fd})
	defer dir.Close()
	_ = dir.Chmod(0o700) // entries of a read-only directory cannot be removed
	des, err := dir.Entries()
	for _, de := range des {
		err = errors.Join(err, dir.RemoveAll(de.Name()))
	}
	return errors.Join(err, f.Remove(name))
}

// Entries lists the directory.
func (f *Folder) Entries() ([]fs.DirEntry, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(f.fd(), ".", openTo, 0)
	}) // with a position of its own
	if err != nil {
		return nil, pathError("reading", f, ".", err)
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	return dir.ReadDir(-1)
}

// Chmod changes the permission bits of the directory.
func (f *Folder) Chmod(perm fs.FileMode) error {
	return unix.Fchmod(f.fd(), uint32(perm.Perm()))
}

// Sync makes the names in the directory survive a loss of power. File systems that
// cannot flush a directory say so with EINVAL or ENOTSUP and keep names in order
// anyway.
func (f *Folder) Sync() error {
	_, err := retry(func() (int, error) {
		return 0, unix.Fsync(f.fd())
	})
	if err == unix.EINVAL || err == unix.ENOTSUP {
		return nil
	}
	return err
}

// Close closes the directory.
func (f *Folder) Close() error {
	if f.desc < 0 {
		return fs.ErrClosed
	}
	fd := f.desc
	f.desc = -1
	return unix.Close(fd)
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist)
}

// FolderOf returns the Folder of an open directory and takes over the file.
func FolderOf(dir *os.File) *Folder {
	defer dir.Close()
	fd, err := retry(func() (int, error) {
		return unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	})
	if err != nil {
		fd = -1 // every use of it is an error
	}
	return &Folder{path: dir.Name(), rel: ".", handle: handle{fd}}
}
