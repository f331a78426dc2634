// Package fs has the applets that read, search and write files of the project:
// read, write, edit_lines, glob, grep and ls.
//
// It resolves no paths itself (see files) and writes nothing below .git and no
// protected path (see policy).
package fs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Applets returns the applets by name.
func Applets() map[string]wire.Func {
	return map[string]wire.Func{
		"edit_lines": runEditLines,
		"glob":       runGlob,
		"grep":       runGrep,
		"ls":         runLS,
		"read":       runRead,
		"write":      runWrite,
	}
}

// find opens the project and resolves one path in it. The caller closes the
// entry.
func find(p wire.Params, name string) (*files.Entry, error) {
	project, err := files.Open(p)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	return project.Find(name)
}

// readEntries reads at most n entries of a directory and reports whether there
// are more.
func readEntries(h *os.File, n int) (entries []fs.DirEntry, more bool, err error) {
	for len(entries) <= n && err == nil {
		var next []fs.DirEntry
		next, err = h.ReadDir(n + 1 - len(entries))
		entries = append(entries, next...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) > n {
		return entries[:n], true, err
	}
	return entries, false, err
}
