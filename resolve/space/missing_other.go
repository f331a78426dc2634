//go:build !windows

package space

import (
	"errors"
	"syscall"
)

// nothingThere reports whether an error means that no file can have that name: a
// part of the path is missing, is not a directory, or is too long.
func nothingThere(err error) bool {
	return IsMissing(err) ||
		errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ENAMETOOLONG)
}
