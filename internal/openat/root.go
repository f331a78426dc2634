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

func (d rootDir) close() error {
	return d.root.Close()
}

func (d rootDir) file(string, int64) (*os.File, Info, error) {
	return nil, Info{}, errors.ErrUnsupported
}

func (d rootDir) read(_ []byte, rel string, max int64) ([]byte, Info, error) {
	f, fi, id, err := d.opened(rel, max)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(
		f,
		min(max, math.MaxInt64-1)+1,
	))
	if err != nil {
		return nil, Info{}, failed(rel, err)
	}
	if int64(len(b)) > max {
		return nil, Info{}, tooLarge(rel, max)
	}
	return b, Info{
		Size:    int64(len(b)),
		Mode:    fi.Mode(),
		ModTime: fi.ModTime(),
		Device:  id.device,
		Inode:   id.inode,
	}, nil
}

// opened opens a regular file of at most max bytes.
func (d rootDir) opened(rel string, max int64) (f *os.File, fi fs.FileInfo, id identity, err error) {
	if f, fi, err = d.open(rel, 0); err != nil {
		return nil, nil, id, err
	}
	if fi.Size() > max {
		err = tooLarge(rel, max)
	} else if id, err = identify(f, fi); err != nil {
		err = failed(rel, err)
	} else if id.links > 1 { // 0 is a file that an editor replaced after the open
		err = notRegular(rel, "it has more than one name (hard link)")
	}
	if err != nil {
		f.Close()
	}
	return f, fi, id, err
}

func (d rootDir) same(rel string, content []byte) (bool, error) {
	f, _, _, err := d.opened(rel, math.MaxInt64)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return sameContent(content, func(b []byte) (int, error) {
		n, err := f.Read(b)
		if err != nil && err != io.EOF {
			return n, failed(rel, err)
		}
		return n, nil
	})
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

// inspect checks the type of every element of rel and returns the type of the last.
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
