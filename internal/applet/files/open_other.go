//go:build !unix

package files

import (
	"path/filepath"
	"strings"
)

// OpenFlags is empty: files have no such flag here.
const OpenFlags = 0

// plainName refuses reserved device names and alternate data streams.
func plainName(name string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, `:\/`)
}
