package openat

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// Dir is an open trusted directory. It is safe for concurrent use. After Close every
// call fails with fs.ErrClosed.
type Dir struct {
	mu sync.RWMutex // held for reading while the backend's descriptor is in use
	b  backend      // nil after Close

	spelling *spelling
}

// backend reads below one directory without following links. Callers check first
// that rel is canonical; list also accepts ".". read may use the memory of buf.
type backend interface {
	read(buf []byte, rel string, max int64) ([]byte, Info, error)
	file(rel string, max int64) (*os.File, Info, error)
	list(rel string) ([]fs.DirEntry, error)
	same(rel string, content []byte) (bool, error)
	close() error
}

// Open opens the trusted directory root. Links in root itself are followed.
func Open(root string) (*Dir, error) {
	b, err := openBackend(root)
	if err != nil {
		return nil, failed(root, err)
	}
	return newDir(b, foldsBelow(root)), nil
}

func newDir(b backend, folds func(rel string) (folds, sure bool)) *Dir {
	return &Dir{b: b, spelling: &spelling{folds: folds, list: b.list}}
}

// Close closes the directory. It waits for reads in progress.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.b == nil {
		return nil
	}
	b := d.b
	d.b = nil
	return b.close()
}

// Read is the function Read in an open directory. A file whose name on the disk has
// another spelling is missing, on every file system.
func (d *Dir) Read(rel string, max int64) ([]byte, Info, error) {
	return d.ReadInto(nil, rel, max)
}

// ReadInto is Read for callers that read many files one after the other: the content is in
// the memory of buf if it is large enough, else in new memory.
func (d *Dir) ReadInto(
	buf []byte,
	rel string,
	max int64,
) (content []byte, info Info, err error) {
	err = d.at(rel, func(b backend) error {
		content, info, err = b.read(buf, rel, max)
		return err
	})
	if err != nil {
		return nil, Info{}, err
	}
	return content, info, nil
}

// File opens a file that Read would read, for a caller that needs parts of it. Info has the
// size that the file has now. It fails with errors.ErrUnsupported on systems where an open
// file cannot be replaced.
func (d *Dir) File(rel string, max int64) (f *os.File, info Info, err error) {
	err = d.at(rel, func(b backend) error {
		f, info, err = b.file(rel, max)
		return err
	})
	if err != nil && f != nil {
		f.Close()
	}
	if err != nil {
		return nil, Info{}, err
	}
	return f, info, nil
}

// at calls fn, which opens the file at rel, and checks the spelling of the name.
func (d *Dir) at(rel string, fn func(backend) error) error {
	if err := CheckRel(rel); err != nil {
		return err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.b == nil {
		return failed(rel, fs.ErrClosed)
	}
	if err := fn(d.b); err != nil {
		return err
	}
	return d.spelling.check(rel)
}

// Same reports whether the file at rel has exactly this content. It reads the file in pieces
// and keeps none of it; it has the errors of Read.
func (d *Dir) Same(rel string, content []byte) (same bool, err error) {
	err = d.at(rel, func(b backend) error {
		same, err = b.same(rel, content)
		return err
	})
	return same && err == nil, err
}

// piece is how many bytes Same reads at once.
const piece = 64 << 10

// sameContent compares what read returns, piece by piece, with a content. read returns 0 at
// the end.
func sameContent(content []byte, read func(b []byte) (int, error)) (bool, error) {
	b := make([]byte, min(piece, len(content)+1))
	for {
		n, err := read(b)
		switch {
		case err != nil:
			return false, err
		case n == 0:
			return len(content) == 0, nil
		case n > len(content) || !bytes.Equal(b[:n], content[:n]):
			return false, nil
		}
		content = content[n:]
	}
}

// Walk calls fn for everything below the directory rel ("." is the Dir itself) and
// follows no link. Files are in byte order of their paths, and a directory comes
// just before its content. If a directory cannot be listed, fn is called for it
// again with Err set. fn may return fs.SkipDir for a directory and fs.SkipAll; any
// other error ends the walk and is returned.
func (d *Dir) Walk(rel string, fn func(rel string, e Entry) error) error {
	if rel != "." {
		if err := CheckRel(rel); err != nil {
			return err
		}
	}
	des, err := d.list(rel)
	if err != nil {
		return err
	}
	if err = d.walk(rel, des, fn); err == fs.SkipAll || err == fs.SkipDir {
		return nil
	}
	return err
}

func (d *Dir) list(rel string) ([]fs.DirEntry, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.b == nil {
		return nil, failed(rel, fs.ErrClosed)
	}
	des, err := d.b.list(rel)
	if err == nil {
		err = d.spelling.check(rel)
	}
	if err != nil {
		return nil, err
	}
	return des, nil
}

func (d *Dir) walk(
	rel string,
	des []fs.DirEntry,
	fn func(rel string, e Entry) error,
) error {
	slices.SortFunc(des, byPath)
	for _, de := range des {
		path := de.Name()
		if rel != "." {
			path = rel + "/" + path
		}
		if err := d.visit(path, de, fn); err != nil {
			return err
		}
	}
	return nil
}

// visit calls fn for one entry and, if it is a directory, for everything below.
func (d *Dir) visit(
	path string,
	de fs.DirEntry,
	fn func(rel string, e Entry) error,
) error {
	e := Entry{Name: de.Name(), Type: de.Type()}
	if e.Err = typeFault(path, e.Type); e.Err == nil {
		e.Err = CheckRel(path)
	}
	err := fn(path, e)
	if !e.IsDir() || e.Err != nil || err != nil {
		return skipped(err, e)
	}
	des, err := d.list(path)
	if err != nil {
		e.Err = err
		return skipped(fn(path, e), e)
	}
	return skipped(d.walk(path, des, fn), e)
}

// skipped turns fs.SkipDir into nil at the directory that it skips.
func skipped(err error, e Entry) error {
	if err == fs.SkipDir && e.IsDir() {
		return nil
	}
	return err
}

// byPath sorts names so that the files of a whole tree are in byte order of their
// paths: a directory is compared with its slash.
func byPath(a, b fs.DirEntry) int {
	x := a.Name()
	y := b.Name()
	n := min(len(x), len(y))
	c := cmp.Compare(x[:n], y[:n])
	if c != 0 {
		return c
	}
	return cmp.Compare(next(a, n), next(b, n))
}

// next returns the byte of de's path at n, -1 after the end of a file's path.
func next(de fs.DirEntry, n int) int {
	switch name := de.Name(); {
	case n < len(name):
		return int(name[n])
	case de.IsDir():
		return '/'
	}
	return -1
}
