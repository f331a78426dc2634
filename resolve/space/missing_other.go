//go:build !windows

package space

import (
	"errors"
	"syscall"
)

// nothingThere reports whether an error of the system says that no file can
// have that name: a part of the path is missing, is no folder, or is longer
// than names can be.
func nothingThere(err error) bool {
	return IsMissing(err) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
