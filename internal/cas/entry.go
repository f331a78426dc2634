package cas

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
)

// entry is the exact content of a directory of the store.
type entry struct {
	files map[string]TreeFile
	dirs  map[string]bool
}

func newEntry(files []TreeFile) (*entry, error) {
	e := &entry{files: make(map[string]TreeFile, len(files)), dirs: map[string]bool{}}
	for _, f := range files {
		if err := openat.CheckRel(f.Rel); err != nil {
			return nil, err
		}
		if _, twice := e.files[f.Rel]; twice {
			return nil, diag.New(diag.ValidationFailed, "materialising files: duplicate path %q", f.Rel)
		}
		e.files[f.Rel] = f
		for dir := path.Dir(f.Rel); dir != "." && !e.dirs[dir]; dir = path.Dir(dir) {
			e.dirs[dir] = true
		}
	}
	for dir := range e.dirs {
		if _, both := e.files[dir]; both {
			return nil, diag.New(diag.ValidationFailed, "materialising files: %q is a file and a directory", dir)
		}
	}
	return e, nil
}

// sorted returns the files in the order of their paths.
func (e *entry) sorted() []TreeFile {
	list := make([]TreeFile, 0, len(e.files))
	for _, f := range e.files {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b TreeFile) int {
		return cmp.Compare(a.Rel, b.Rel)
	})
	return list
}

// digest returns the name of a tree. The length before each path makes the encoding
// of two sets of files different.
func (e *entry) digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "rye tree 1\n%d\n", len(e.files))
	for _, f := range e.sorted() {
		fmt.Fprintf(
			h,
			"%x %t %d:%s\n",
			sha256.Sum256(f.Bytes),
			f.Exec,
			len(f.Rel),
			f.Rel,
		)
	}
	return hex.EncodeToString(h.Sum(nil))
}

type state int

const (
	broken state = iota
	intact
	absent
)

// inspect reads the directory at in root, whose path is dir, and compares its
// whole content.
func (e *entry) inspect(root *openat.Dir, dir, at string) state {
	found := 0
	err := root.Walk(at, func(rel string, d openat.Entry) error {
		name := strings.TrimPrefix(rel, at+"/")
		f, listed := e.files[name]
		switch {
		case d.Err != nil:
			return d.Err
		case d.IsDir() && e.dirs[name],
			listed && !d.IsDir() && matches(root, rel, f):
			found++
			return nil
		}
		return errDiffers
	})
	if err == nil &&
		found == len(e.files)+len(e.dirs) &&
		owner.Private(filepath.Join(dir, at), "") == nil {
		return intact
	}
	_, gone := os.Lstat(filepath.Join(dir, at))
	if errors.Is(gone, os.ErrNotExist) {
		return absent
	}
	return broken
}

var errDiffers = errors.New("the directory differs")

// matches reports whether the file at rel has the content and mode of f.
func matches(root *openat.Dir, rel string, f TreeFile) bool {
	b, info, err := root.Read(rel, int64(len(f.Bytes)))
	return err == nil &&
		bytes.Equal(b, f.Bytes) &&
		(runtime.GOOS == "windows" || info.Mode == modeOf(f))
}

func modeOf(f TreeFile) os.FileMode {
	if f.Exec {
		return 0o555
	}
	return 0o444
}

// otherName reports whether the directory at has the single file of e, intact,
// under another name or with other execute bits. It is false for e's own name:
// then another process has just repaired the directory.
func (e *entry) otherName(root *openat.Dir, at string) bool {
	n := 0
	other := false
	err := root.Walk(at, func(rel string, d openat.Entry) error {
		n++
		if d.Err != nil || d.IsDir() || n > 1 {
			return errDiffers
		}
		for _, f := range e.files {
			turned := f
			turned.Exec = !f.Exec
			written := rel == at+"/"+f.Rel && matches(root, rel, f)
			other = !written && (matches(root, rel, f) || matches(root, rel, turned))
		}
		return nil
	})
	return err == nil && other
}
