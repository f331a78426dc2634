//go:build !linux && !darwin

package openat

import (
	"errors"
	"os"
)

// Clone returns errors.ErrUnsupported: the file systems of this system share no blocks.
func Clone(*os.Root, string, *os.File) error { return errors.ErrUnsupported }
