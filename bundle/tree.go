package bundle

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
)

// Tree is a directory that contains .ai. It reads only regular files, passes no
// links, and limits sizes.
type Tree interface {
	// Walk calls fn for everything below .ai that is not a directory, with the
	// error of an entry that is not a readable file. It does not enter a directory
	// for which skip returns true.
	Walk(skip func(path string) bool, fn func(path string, err error)) error
	// Read returns the bytes of a file below .ai, or of rye.yaml, and whether it
	// is executable.
	Read(path string, limit int64) (b []byte, executable bool, err error)
	// Modes reports whether the tree records which files are executable.
	Modes() bool
}

// Listing is a Tree that knows size and digest of its files and returns an error
// when it reads other bytes.
type Listing interface {
	Tree
	// Lists returns size, digest and mode of a file. ok is false if there is none.
	Lists(path string) (size int64, d item.Digest, executable, ok bool)
}

// Folder opens a directory on disk. The caller must close it.
func Folder(root string) (*FolderTree, error) {
	d, err := openat.Open(root)
	if err != nil {
		return nil, err
	}
	return &FolderTree{d}, nil
}

// FolderTree is a Tree on disk.
type FolderTree struct{ d *openat.Dir }

// Close closes the directory.
func (t *FolderTree) Close() error {
	return t.d.Close()
}

// Modes reports whether the system has an executable bit.
func (t *FolderTree) Modes() bool {
	return runtime.GOOS != "windows"
}

// Read implements Tree.
func (t *FolderTree) Read(path string, limit int64) ([]byte, bool, error) {
	b, info, err := t.d.Read(path, limit)
	return b, info.Mode&0o111 != 0, err
}

// Walk implements Tree.
func (t *FolderTree) Walk(skip func(string) bool, fn func(string, error)) error {
	return t.d.Walk(dir, func(rel string, e openat.Entry) error {
		if e.IsDir() && e.Err == nil {
			if skip(rel) {
				return fs.SkipDir
			}
			return nil
		}
		fn(rel, e.Err)
		return nil
	})
}

// FS returns a Tree over files without modes, such as embedded ones.
func FS(fsys fs.FS) Tree {
	return fsTree{fsys}
}

type fsTree struct{ fsys fs.FS }

func (t fsTree) Modes() bool {
	return false
}

func (t fsTree) Read(path string, limit int64) ([]byte, bool, error) {
	b, err := fs.ReadFile(t.fsys, path)
	if err == nil && int64(len(b)) > limit {
		return nil, false, diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", path, len(b), limit)
	}
	return b, false, err
}

func (t fsTree) Walk(skip func(string) bool, fn func(string, error)) error {
	return fs.WalkDir(t.fsys, dir, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && p == dir:
			return err
		case err != nil:
			fn(p, err)
			return fs.SkipDir
		case e.IsDir() && skip(p):
			return fs.SkipDir
		case e.IsDir():
		case !e.Type().IsRegular():
			fn(p, diag.New(diag.NotRegular, "reading %s: it is not a regular file", p))
		default:
			fn(p, nil)
		}
		return nil
	})
}

// list returns the sorted paths of a bundle's files, and a finding for each entry
// that cannot be part of a bundle. Create and Verify use the same list.
func list(t Tree) (paths []string, out []diag.Finding, err error) {
	seen := names{}
	err = t.Walk(excluded, func(p string, fault error) {
		if fault == nil && atomicfile.Temporary(path.Base(p)) {
			fault = diag.New(diag.BundleFileExtra, "an interrupted write left the temporary file %s", p)
		}
		if fault == nil {
			fault = CheckPath(p)
		}
		if mine, other := seen.add(p); fault == nil && other != "" {
			fault = diag.New(diag.PathEscape, "reading path %q: path %q differs by case only", mine, other)
		}
		if fault != nil {
			out = append(out, finding(p, fault))
			return
		}
		paths = append(paths, p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, diag.New(diag.FileSystemError, "listing the bundle: it has no %s directory", dir)
	}
	switch _, _, fault := t.Read(requiresName, MaxFile); {
	case fault == nil:
		paths = append(paths, requiresName)
	case !errors.Is(fault, fs.ErrNotExist):
		out = append(out, finding(requiresName, fault))
	}
	return paths, out, err
}

// excluded reports whether p is a directory that is never part of a bundle.
func excluded(p string) bool {
	return path.Dir(p) == dir && Outside(path.Base(p))
}

// finding returns an error about a file as a finding.
func finding(p string, err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	f := diag.Errorf(code, 0, 0, "%s", strings.TrimSpace(err.Error()))
	f.Path = p
	e := (*diag.Error)(nil)
	if errors.As(err, &e) {
		f.Reason = e.Reason
		f.Facts = e.Details
	}
	return f
}
