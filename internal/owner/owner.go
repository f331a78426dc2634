// Package owner reports which files and directories another user of the machine
// owns, can write or can replace.
//
// It compares users and modes only. It does not read access lists, and on Windows
// it reports nothing: there the profile directory's access lists keep other users
// out.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Unsafe is the error about a path that another user controls.
type Unsafe struct {
	Path string // the path itself, or a directory above it
	Why  string // completes "Path …"
}

func (u *Unsafe) Error() string {
	return u.Path + " " + u.Why
}

// Private returns an *Unsafe error if another user owns the file or directory at
// path or can write it. A missing path is safe. Links are followed, directories
// above are not examined. sudo is explained at Other.
func Private(path, sudo string) error {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return private(path, fi, sudo)
}

func private(path string, fi fs.FileInfo, sudo string) error {
	if uid := Other(fi, sudo); uid != "" {
		return &Unsafe{path, "belongs to " + Name(uid)}
	}
	if who := writers(fi); who != "" {
		return &Unsafe{path, fmt.Sprintf("can be written by %s (mode %04o)", who, fi.Mode().Perm())}
	}
	return nil
}

// maxLinks bounds the links in a path.
const maxLinks = 40

// Sealed returns an *Unsafe error if another user can write the directory at path,
// or can replace it because he controls a directory or link above it. A directory that
// does not exist is safe; the caller checks it again after creating it, because in a sticky
// directory another user may be faster.
func Sealed(path string) error {
	if !checked {
		return nil
	}
	links := 0
	return sealed(filepath.Clean(path), &links)
}

// sealed walks from the root of the file system down, because a directory that
// another user controls decides about everything below it.
func sealed(path string, links *int) error {
	parts := strings.Split(strings.TrimPrefix(path, string(filepath.Separator)), string(filepath.Separator))
	at := string(filepath.Separator)
	above, err := os.Lstat(at)
	if err != nil {
		return err
	}
	for i, part := range parts {
		at = filepath.Join(at, part)
		fi, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return replaceable(filepath.Dir(at), above)
		}
		if err != nil {
			return err
		}
		if err := replaceable(filepath.Dir(at), above); err != nil {
			return err
		}
		if uid := Other(fi, ""); uid != "" {
			return &Unsafe{at, "belongs to " + Name(uid)}
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			return followed(at, parts[i+1:], links)
		}
		above = fi
	}
	return private(path, above, "")
}

// followed continues behind a link at path.
func followed(path string, rest []string, links *int) error {
	if *links++; *links > maxLinks {
		return &Unsafe{path, "leads through too many links"}
	}
	to, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	return sealed(filepath.Join(append([]string{to}, rest...)...), links)
}

// replaceable returns an error if another user can rename what the directory
// contains. In a sticky directory only the owners of a name and of the directory
// can.
func replaceable(path string, dir fs.FileInfo) error {
	if dir.Mode()&fs.ModeSticky != 0 {
		return nil // the owner was checked when it was passed
	}
	return private(path, dir, "")
}
