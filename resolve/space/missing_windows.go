package space

import (
	"errors"
	"syscall"
)

// nothingThere reports whether an error means that no file can have that name: a
// part of the path is missing, is not a directory, or is too long.
func nothingThere(err error) bool {
	const invalidName, tooLong = syscall.Errno(123), syscall.Errno(206)
	return IsMissing(err) || errors.Is(err, syscall.ERROR_PATH_NOT_FOUND) || errors.Is(err, invalidName) || errors.Is(err, tooLong)
}
