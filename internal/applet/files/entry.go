package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/policy"
)

// MaxSize is the size of the largest file that is read or written, in bytes.
const MaxSize = 10 << 20

// Entry is a file or directory of the project, or a name where there is none
// yet: an open handle on the real directory that contains it, and its name.
type Entry struct {
	Dir   *os.Root
	Base  string      // "." for Dir itself
	Rel   string      // real path below the project, with slashes
	Info  fs.FileInfo // nil if it does not exist
	Given string      // the path as the user typed it
	Root  string      // real path of the project

	missing []string // directories between Dir and Base that do not exist
	within  policy.Boundary
}

// CheckWrite returns an error if tools do not write the entry.
func (e *Entry) CheckWrite() error {
	for dir, n := path.Dir(e.Rel), len(e.missing); n > 0; dir, n = path.Dir(dir), n-1 {
		if err := e.within.CheckCreate(dir, e.Given); err != nil {
			return err
		}
	}
	return e.within.CheckWrite(e.Rel, e.Given)
}

// CheckRead returns an error if tools do not read what has the path rel below the
// entry. The path must have no links.
func (e *Entry) CheckRead(rel string) error {
	return e.within.CheckRead(path.Join(e.Rel, rel), e.Given)
}

// Close closes the handle.
func (e *Entry) Close() {
	e.Dir.Close()
}

// Read returns the content of a regular file.
func (e *Entry) Read() ([]byte, error) {
	return e.ReadWithin(func([]byte) int64 { return MaxSize })
}

// ReadWithin returns the content of a regular file of at most as many bytes as limit returns
// for its beginning.
func (e *Entry) ReadWithin(limit func(head []byte) int64) ([]byte, error) {
	switch {
	case e.Info == nil:
		return nil, PathError("reading", e.Given, fs.ErrNotExist)
	case e.Info.IsDir():
		return nil, diag.New(diag.NotRegular, "reading %q: it is a directory", e.Given)
	case !e.Info.Mode().IsRegular():
		return nil, NotRegular("reading", e.Given)
	}
	return readWithin(e.Dir, e.Base, e.Given, limit)
}

// ReadText returns the lines of a text file.
func (e *Entry) ReadText() (Text, error) {
	data, err := e.Read()
	if err != nil {
		return Text{}, err
	}
	return ParseText(e.Given, data)
}

// OpenDir returns a handle on the directory that the entry is.
func (e *Entry) OpenDir() (*os.Root, error) {
	if e.Info == nil {
		return nil, PathError("opening", e.Given, fs.ErrNotExist)
	}
	root, err := e.Dir.OpenRoot(e.Base)
	if err != nil {
		return nil, PathError("opening", e.Given, err)
	}
	return root, nil
}

// MakeDirs creates the missing directories and moves Dir to the last one.
func (e *Entry) MakeDirs() error {
	for _, name := range e.missing {
		err := e.Dir.Mkdir(name, 0o777)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return PathError("creating the directory of", e.Given, err)
		}
		// As in walk.enter: the opened directory must be the one that Lstat saw.
		seen, err := e.Dir.Lstat(name)
		if err == nil && !seen.IsDir() {
			return diag.New(diag.PathEscape, "writing %q: %q was replaced while it was created", e.Given, name)
		}
		child, openErr := e.Dir.OpenRoot(name)
		if err = errors.Join(err, openErr); err != nil {
			return PathError("creating the directory of", e.Given, err)
		}
		now, err := child.Stat(".")
		if err != nil || !os.SameFile(seen, now) {
			child.Close()
			return diag.New(diag.PathEscape, "writing %q: %q was replaced while it was created", e.Given, name)
		}
		e.Dir.Close()
		e.Dir = child
	}
	e.missing = nil
	return nil
}

// Read returns the content of a regular file below an open directory. given is
// its name in errors.
func Read(dir *os.Root, name, given string) ([]byte, error) {
	return readWithin(dir, name, given, func([]byte) int64 { return MaxSize })
}

// headBytes are the bytes that a limit depends on.
const headBytes = 16

func readWithin(
	dir *os.Root,
	name, given string,
	limit func(head []byte) int64,
) ([]byte, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|OpenFlags, 0)
	if err != nil {
		return nil, PathError("reading", given, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, PathError("reading", given, err)
	}
	if !info.Mode().IsRegular() {
		return nil, NotRegular("reading", given)
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil &&
		!errors.Is(err, io.EOF) &&
		!errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, PathError("reading", given, err)
	}
	most := limit(head[:n])
	if info.Size() > most {
		return nil, tooLarge(given, info.Size(), most)
	}
	rest, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, PathError("reading", given, err)
	}
	data := append(head[:n], rest...)
	if int64(len(data)) > most { // it grew after Stat
		return nil, tooLarge(given, int64(len(data)), most)
	}
	return data, nil
}

// NotRegular returns the error for devices, sockets and pipes.
func NotRegular(doing, given string) error {
	return diag.New(diag.NotRegular, "%s %q: it is not a regular file or directory", doing, given)
}

func tooLarge(given string, size, most int64) error {
	return diag.New(diag.TooLarge, "reading %q: %d bytes, more than %d", given, size, most)
}

// PathError returns an error of the operating system without absolute paths.
func PathError(doing, given string, err error) error {
	if strings.Contains(err.Error(), "path escapes from parent") {
		return escape(given) // package os does not export this error
	}
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.FileSystemError, "%s %q: %w", doing, given, fs.ErrNotExist)
	}
	return diag.New(diag.FileSystemError, "%s %q: %w", doing, given, wire.Cause(err))
}
