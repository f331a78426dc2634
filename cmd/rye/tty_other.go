//go:build !unix && !windows

package main

import (
	"errors"
	"os"
)

func openTerminal() (*os.File, error) { return nil, errors.ErrUnsupported }
