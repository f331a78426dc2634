//go:build !linux

package proc

import (
	"errors"
	"os"
)

// Memfd returns errors.ErrUnsupported: only Linux seals files in memory.
func Memfd(string, []byte) (*os.File, error) { return nil, errors.ErrUnsupported }
