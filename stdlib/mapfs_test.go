package stdlib_test

import (
	"io/fs"
	"testing/fstest"
)

func mapFS(files map[string][]byte) fs.FS {
	m := fstest.MapFS{}
	for p, b := range files {
		m[p] = &fstest.MapFile{Data: b}
	}
	return m
}
