//go:build !linux

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// anchor is not used: programs are not confined to paths on this system.
type anchor struct{ path string }

func openAnchor(string) *anchor { return nil }

func (*anchor) close() {}

func (*anchor) created() map[string]identity { return nil }

// location is the path of a directory.
type location struct {
	base *anchor
	path string
}

func (location) stamp() (stamp, bool) { return stamp{}, false }

func (p location) list() (stamp, []fs.DirEntry, error) {
	entries, err := os.ReadDir(p.path)
	return stamp{}, entries, err
}

func (location) makeReadable() error { return fs.ErrPermission }

func (location) makeDirs(string, ...string) {}

func (p location) in() location { return location{p.base, filepath.Dir(p.path)} }
