// Package links follows the links of paths: of many paths below the same directories, it
// examines each directory once. It does not decide what a program may reach.
package links

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Seen remembers where directories and files are. It must not outlive one decision: a
// link that changes meanwhile is not noticed. Nil remembers nothing. It is not safe for concurrent use.
type Seen map[string]place

type place struct {
	at  string
	err error
}

// Follow is filepath.EvalSymlinks.
func (s Seen) Follow(path string) (string, error) {
	if runtime.GOOS == "windows" || !filepath.IsAbs(path) || path != filepath.Clean(path) {
		return filepath.EvalSymlinks(path) // Windows has volumes, and names in another case
	}
	return s.follow(path)
}

// Real is Follow, and the path itself if it cannot be followed.
func (s Seen) Real(path string) string {
	if at, err := s.Follow(path); err == nil {
		return at
	}
	return path
}

// follow returns where a clean absolute path is.
func (s Seen) follow(path string) (string, error) {
	dir := filepath.Dir(path)
	if dir == path {
		return path, nil
	}
	if p, ok := s[path]; ok {
		return p.at, p.err
	}
	p := place{}
	if dir, p.err = s.follow(dir); p.err == nil {
		p.at, p.err = step(filepath.Join(dir, filepath.Base(path)))
	}
	if s != nil {
		s[path] = p
	}
	return p.at, p.err
}

// step returns where a path is whose directory contains no link.
func step(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		return filepath.EvalSymlinks(path)
	}
	return path, nil
}
