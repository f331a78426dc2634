package openat

import (
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/ryeos/rye/diag"
)

// NonBlock is a flag of opening a file: one that a program replaced by a pipe does not block.
const NonBlock = nonblock

// OpenRegular opens the file at path for reading. Links are followed: it is for the
// directories of the user, which keeps some settings as links. Unlike os.Open it
// does not wait for the writer of a pipe. What is not a regular file is
// NOT_REGULAR; a missing file satisfies errors.Is(err, fs.ErrNotExist).
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		// A socket and some devices cannot be opened.
		fi, serr := os.Stat(path)
		if serr == nil && !fi.Mode().IsRegular() {
			return nil, irregular(path, fi)
		}
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = irregular(path, fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func irregular(path string, fi fs.FileInfo) error {
	return notRegular(path, "it is a "+kindOf(fi.Mode().Type())+", not a regular file")
}

// ReadRegular returns the content of the file at path, which it opens with
// OpenRegular. A file of more than max bytes is TOO_LARGE.
func ReadRegular(path string, max int64) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		return nil, diag.New(diag.TooLarge, "reading %s: the file is larger than %d bytes", strconv.Quote(path), max)
	}
	return b, err
}

// MaxText is a bound for files that are read as a whole and that a person or a program wrote by hand: none is longer.
const MaxText = 16 << 20

// ReadBounded returns the content of a file that a user named, also of a pipe. It ends after max bytes, and more are
// TOO_LARGE: a device has no end.
func ReadBounded(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	if err == nil && int64(len(b)) > max {
		return nil, diag.New(diag.TooLarge, "reading %s: it has more than %d bytes", strconv.Quote(path), max)
	}
	return b, err
}
