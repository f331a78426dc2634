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

// Tree is a folder that holds .ai. Its files are read under the open rules:
// regular files, no links, bounded.
type Tree interface {
	// Walk calls fn for everything below .ai that is no folder, with what is
	// wrong with it; fn says whether to stay out of a folder.
	Walk(skip func(path string) bool, fn func(path string, err error)) error
	// Read returns the bytes of a file below .ai, or of rye.yaml, and whether it
	// is executable.
	Read(path string, limit int64) (b []byte, executable bool, err error)
	// Modes reports whether executable means anything here.
	Modes() bool
}

// Listing is a Tree whose files are named by what they hold: it refuses to read
// one whose bytes are others.
type Listing interface {
	Tree
	// Lists returns what a file holds, and whether there is one.
	Lists(path string) (size int64, d item.Digest, executable, ok bool)
}

// Folder opens a folder on disk. Close releases it.
func Folder(root string) (*FolderTree, error) {
	d, err := openat.Open(root)
	if err != nil {
		return nil, err
	}
	return &FolderTree{d}, nil
}

// FolderTree is a Tree on disk.
type FolderTree struct{ d *openat.Dir }

// Close releases the folder.
func (t *FolderTree) Close() error { return t.d.Close() }

// Modes reports whether the system has an executable bit.
func (t *FolderTree) Modes() bool { return runtime.GOOS != "windows" }

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
func FS(fsys fs.FS) Tree { return fsTree{fsys} }

type fsTree struct{ fsys fs.FS }

func (t fsTree) Modes() bool { return false }

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
			fn(p, diag.New(diag.NotRegular, "reading %s: it is no regular file", p))
		default:
			fn(p, nil)
		}
		return nil
	})
}

// list returns the paths of a bundle's files in order, and a finding for each
// that cannot be one. Check and create list alike.
func list(t Tree) (paths []string, out []diag.Finding, err error) {
	seen := names{}
	err = t.Walk(uncarried, func(p string, fault error) {
		if fault == nil && atomicfile.Temporary(path.Base(p)) {
			fault = diag.New(diag.BundleFileExtra, "an interrupted write left %s behind: remove it", p)
		}
		if fault == nil {
			fault = CheckPath(p)
		}
		if mine, other := seen.add(p); fault == nil && other != "" {
			fault = diag.New(diag.PathEscape, "reading path %q: path %q is the same where case does not count", mine, other)
		}
		if fault != nil {
			out = append(out, finding(p, fault))
			return
		}
		paths = append(paths, p)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, diag.New(diag.FileSystemError, "listing the bundle: there is no %s folder", dir)
	}
	switch _, _, fault := t.Read(requiresName, MaxFile); {
	case fault == nil:
		paths = append(paths, requiresName)
	case !errors.Is(fault, fs.ErrNotExist):
		out = append(out, finding(requiresName, fault))
	}
	return paths, out, err
}

// uncarried reports whether p is a folder that no bundle carries.
func uncarried(p string) bool { return path.Dir(p) == dir && outside(path.Base(p)) }

// finding makes an error a finding about one file.
func finding(p string, err error) diag.Finding {
	code := diag.CodeOf(err)
	if code == "" {
		code = diag.FileSystemError
	}
	f := diag.Errorf(code, 0, 0, "%s", strings.TrimSpace(err.Error()))
	f.Path = p
	return f
}
