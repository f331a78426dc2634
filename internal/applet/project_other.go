//go:build !unix

package applet

import (
	"path/filepath"
	"strings"
)

// openFlags is empty where files have no such flag.
const openFlags = 0

// plainName refuses reserved device names and alternate data streams.
func plainName(name string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, `:\/`)
}
