package openat

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/ryeos/rye/diag"
)

func fault(code diag.Code, rel, why string, cause error) *diag.Error {
	return &diag.Error{Code: code, Message: "reading " + strconv.Quote(rel) + ": " + why, Err: cause}
}

func escapes(rel, why string) *diag.Error {
	return fault(diag.PathEscape, rel, why, nil)
}

func notRegular(rel, why string) *diag.Error {
	return fault(diag.NotRegular, rel, why, nil)
}

func tooLarge(rel string, max int64) *diag.Error {
	return fault(diag.TooLarge, rel, fmt.Sprintf("the file is larger than %d bytes", max), nil).WithDetail("max", max)
}

// failed keeps the cause, so that errors.Is finds fs.ErrNotExist.
func failed(rel string, cause error) *diag.Error {
	why := cause.Error()
	if pe := new(fs.PathError); errors.As(cause, &pe) {
		why = pe.Err.Error() // the message has the path already
	}
	return fault(diag.FileSystemError, rel, why, cause)
}

// typeFault returns an error for a type other than regular file and directory.
func typeFault(rel string, t fs.FileMode) error {
	switch {
	case t == 0 || t == fs.ModeDir:
		return nil
	case t&fs.ModeSymlink != 0:
		return escapes(rel, "it is a link")
	case t == fs.ModeIrregular:
		return escapes(rel, "it is a junction or another reparse point")
	}
	return notRegular(rel, "it is a "+kindOf(t))
}

func kindOf(t fs.FileMode) string {
	switch {
	case t&fs.ModeDir != 0:
		return "directory"
	case t&fs.ModeNamedPipe != 0:
		return "pipe"
	case t&fs.ModeSocket != 0:
		return "socket"
	case t&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
