package space

import (
	"errors"
	"syscall"
)

// nothingThere reports whether an error of the system says that no file can
// have that name: a part of the path is missing, is no folder, or is longer
// than names can be.
func nothingThere(err error) bool {
	const invalidName, tooLong = syscall.Errno(123), syscall.Errno(206)
	return IsMissing(err) || errors.Is(err, syscall.ERROR_PATH_NOT_FOUND) || errors.Is(err, invalidName) || errors.Is(err, tooLong)
}
