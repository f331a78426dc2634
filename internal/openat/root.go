package openat

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
)

// rootDir is the backend over os.Root, for systems without openat. os.Root keeps reads
// below the root but follows links inside it and permits hard links. Every element
// is therefore inspected first, and the opened file must be the inspected one.
type rootDir struct{ root *os.Root }

func openRoot(root string) (backend, error) {
	r, err := openShared(root)
	if err != nil {
		return nil, err
	}
	return rootDir{r}, nil
}

func (d rootDir) close() error { return d.root.Close() }

func (d rootDir) file(string, int64) (*os.File, Info, error) {
	return nil, Info{}, errors.ErrUnsupported
}

func (d rootDir) read(_ []byte, rel string, max int64) ([]byte, Info, error) {
	f, fi, err := d.open(rel, 0)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	if fi.Size() > max {
		return nil, Info{}, tooLarge(rel, max)
	}
	id, err := identify(f, fi)
	if err != nil {
		return nil, Info{}, failed(rel, err)
	}
	if id.links > 1 { // 0 is a file that an editor replaced after the open
		return nil, Info{}, notRegular(rel, "it has more than one name (hard link)")
	}
	b, err := io.ReadAll(io.LimitReader(f, min(max, math.MaxInt64-1)+1))
	if err != nil {
		return nil, Info{}, failed(rel, err)
	}
	if int64(len(b)) > max {
		return nil, Info{}, tooLarge(rel, max)
	}
	return b, Info{Size: int64(len(b)), Mode: fi.Mode(), ModTime: fi.ModTime(), Device: id.device, Inode: id.inode}, nil
}

func (d rootDir) list(rel string) ([]fs.DirEntry, error) {
	f, _, err := d.open(rel, fs.ModeDir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	des, err := f.ReadDir(-1)
	if err != nil {
		return nil, failed(rel, err)
	}
	return des, nil
}

// open returns the file at rel, which must have the given type.
func (d rootDir) open(rel string, want fs.FileMode) (*os.File, fs.FileInfo, error) {
	seen, err := d.inspect(rel, want)
	if err != nil {
		return nil, nil, err
	}
	f, err := d.root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, failed(rel, err)
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, failed(rel, err)
	}
	if !os.SameFile(seen, fi) {
		f.Close()
		return nil, nil, escapes(rel, "it was replaced while it was opened")
	}
	return f, fi, nil
}

// inspect checks the type of every element of rel and returns that of the last.
func (d rootDir) inspect(rel string, want fs.FileMode) (fi fs.FileInfo, err error) {
	for i := 0; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		if fi, err = d.root.Lstat(rel[:i]); err != nil {
			return nil, failed(rel, err)
		}
		t := fi.Mode().Type()
		if err := typeFault(rel, t); err != nil {
			return nil, err
		}
		if i < len(rel) && t != fs.ModeDir {
			return nil, failed(rel, fs.ErrNotExist)
		}
		if i == len(rel) && t != want {
			return nil, d.wrongType(rel, t)
		}
	}
	return fi, nil
}

func (d rootDir) wrongType(rel string, t fs.FileMode) error {
	if t == fs.ModeDir {
		return notRegular(rel, "it is a directory")
	}
	return failed(rel, fs.ErrNotExist)
}
