package search

import (
	"bytes"
	"io/fs"
	"strings"
	"testing/fstest"
)

// changed is a bundle with other words in one of its files.
type changed struct{ fs.FS }

// Open returns the file, changed where it is the one.
func (c changed) Open(name string) (fs.File, error) {
	if !strings.HasSuffix(name, "bash/bash.yaml") {
		return c.FS.Open(name)
	}
	b, err := fs.ReadFile(c.FS, name)
	if err != nil {
		return nil, err
	}
	b = bytes.Replace(b, []byte("description: "), []byte("description: okapi "), 1)
	return fstest.MapFS{name: {Data: b}}.Open(name)
}
