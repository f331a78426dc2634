//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package termkeys

import (
	"errors"
	"os"
)

// ReadHidden is errors.ErrUnsupported on this system.
func ReadHidden(*os.File, func()) ([]byte, error) { return nil, errors.ErrUnsupported }
