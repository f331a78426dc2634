//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package termkeys

import (
	"context"
	"errors"
	"os"
)

// Terminal does not exist on this system.
type Terminal struct{}

// Open returns an error: this system has no terminals that send single keys.
func Open(*os.File) (*Terminal, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Terminal) Close() {}

// Discard does nothing.
func (*Terminal) Discard() {}

// Read returns ErrClosed.
func (*Terminal) Read(context.Context) ([]Key, error) { return nil, ErrClosed }
