//go:build !unix && !windows

package cli

import (
	"errors"
	"os"
)

func OpenTerminal() (*os.File, error) { return nil, errors.ErrUnsupported }
