package workcopy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
)

// Kinds of a File.
const (
	Regular = "file"
	Link    = "link"
	Absent  = ""
	Folder  = "directory"
	Large   = "large" // a file with more than maxFile bytes, which no apply writes
	Other   = "other" // a pipe or a device, or below a link
)

// File is the state of one path.
type File struct {
	Kind   string `json:"kind"`
	Exec   bool   `json:"exec,omitempty"`
	Digest string `json:"digest,omitempty"` // of the content, in hexadecimal; of a large file, its size and time
	Target string `json:"target,omitempty"` // of a link
}

// Kinds of a Change.
const (
	Added    = "added"
	Modified = "modified"
	Deleted  = "deleted"
)

// Change is a path that differs from the state that the copy began with.
type Change struct {
	Path string `json:"path"`
	Kind string `json:"change"`
	Link string `json:"link,omitempty"` // the target of a new link
	Why  string `json:"withheld,omitempty"`
	was  File
	is   File
}

// maxFile is the size of a file that a copy can change, in bytes.
const maxFile = 256 << 20

// list returns the files below a directory. Directories of git are left out, and a link is
// not followed. Files that known does not have are not read, so that they have no digest; nil
// reads all.
func list(ctx context.Context, dir string, known map[string]File) (map[string]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
	}
	defer root.Close()
	out := map[string]File{}
	err = fs.WalkDir(root.FS(), ".", func(rel string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		case rel == ".":
			return nil
		case isGit(e.Name()) || strings.HasPrefix(e.Name(), atomicfile.Prefix):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		_, ok := known[rel]
		if known != nil && !ok && e.Type().IsRegular() {
			out[rel] = File{Kind: Regular}
			return nil
		}
		f, _, err := read(root, rel)
		out[rel] = f
		return err
	})
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a working copy: %w", err)
	}
	return out, nil
}

// read returns the state of a path and the content of a file.
func read(root *os.Root, rel string) (File, []byte, error) {
	if linked(root, rel) {
		return File{Kind: Other}, nil, nil
	}
	fi, err := root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) || err != nil && notDir(root, rel) {
		return File{}, nil, nil
	}
	if err != nil {
		return File{}, nil, err
	}
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		to, err := root.Readlink(rel)
		return File{Kind: Link, Target: to}, nil, err
	case fi.IsDir():
		return File{Kind: Folder}, nil, nil
	case !fi.Mode().IsRegular():
		return File{Kind: Other}, nil, nil
	case fi.Size() > maxFile:
		return File{Kind: Large, Digest: fmt.Sprintf("%d bytes of %s", fi.Size(), fi.ModTime().UTC().Format(time.RFC3339Nano))}, nil, nil
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|openat.NonBlock, 0)
	if err != nil {
		return File{}, nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil || !os.SameFile(fi, opened) {
		return File{}, nil, errors.Join(err, diag.New(diag.FileSystemError, "reading %s: it changed while it was read", rel))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return File{Kind: Regular, Exec: fi.Mode()&0o100 != 0, Digest: digest(b)}, b, err
}

// packed returns a name as a record has it: JSON has no names that are not UTF-8, and would
// give two files one name.
func packed(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return "\x00" + hex.EncodeToString([]byte(name))
}

// unpacked returns the name that a record has.
func unpacked(name string) string {
	text, ok := strings.CutPrefix(name, "\x00")
	if b, err := hex.DecodeString(text); ok && err == nil {
		return string(b)
	}
	return name
}

// renamed returns the files with the names and targets of links that a function returns.
func renamed(files map[string]File, name func(string) string) map[string]File {
	out := make(map[string]File, len(files))
	for rel, f := range files {
		f.Target = name(f.Target)
		out[name(rel)] = f
	}
	return out
}

// isGit reports whether some file system takes a name for the directory of git.
func isGit(name string) bool {
	return name == ".git" || gitcmd.Alias(name, ".git")
}

// linked reports whether a directory of a path is a link.
func linked(root *os.Root, rel string) bool {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		fi, err := root.Lstat(dir)
		if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// notDir reports whether a file is where a path needs a directory.
func notDir(root *os.Root, rel string) bool {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if fi, err := root.Lstat(dir); err == nil {
			return !fi.IsDir()
		}
	}
	return false
}

// write gives a path a state. It follows no link: the caller has read the path before.
func write(root *os.Root, rel string, f File, data []byte) error {
	if linked(root, rel) {
		return diag.New(diag.PathEscape, "writing %s: a directory of it is a link", rel)
	}
	switch f.Kind {
	case Absent:
		return remove(root, rel)
	case Link:
		return swap(root, rel, func(tmp string) error {
			return root.Symlink(f.Target, tmp)
		})
	case Regular:
		perm := fs.FileMode(0o644)
		if f.Exec {
			perm = 0o755
		}
		base := atomicfile.Project(root.Name())
		switch fi, err := root.Lstat(rel); {
		case err != nil:
		case !fi.Mode().IsRegular():
			return swap(root, rel, func(tmp string) error {
				return base.Write(tmp, data, perm)
			})
		case fi.Mode()&0o100 != 0 == f.Exec:
			perm = 0 // keeps it
		}
		return base.Write(rel, data, perm)
	}
	return diag.New(diag.NotRegular, "writing %s: it is not a file", rel)
}

// swap replaces a path by what create makes at a temporary path. A process that is stopped
// leaves the one or the other.
func swap(root *os.Root, rel string, create func(tmp string) error) error {
	scratch, err := atomicfile.Project(root.Name()).Scratch()
	if err != nil {
		return err
	}
	defer scratch.Close()
	tmp, err := filepath.Rel(root.Name(), filepath.Join(scratch.Path(), "new"))
	if err != nil {
		return err
	}
	err = errors.Join(create(tmp), root.MkdirAll(path.Dir(rel), 0o755))
	if err != nil {
		return err
	}
	fi, err := root.Lstat(rel)
	if err == nil && fi.IsDir() {
		if err := root.Remove(rel); err != nil { // it has files
			return err
		}
	}
	return root.Rename(tmp, rel)
}

// remove removes a file, and the directories above it that are empty then.
func remove(root *os.Root, rel string) error {
	err := root.Remove(rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	prune(root, rel)
	return nil
}

// prune removes the directories of a path that are empty.
func prune(root *os.Root, rel string) {
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		fi, err := root.Lstat(dir)
		if err == nil && (!fi.IsDir() || root.Remove(dir) != nil) {
			return // it is a file now, or has other files
		}
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// compare returns the changes between two states, in the order of the paths. Removed files
// come first: a directory can replace a file.
func compare(was, is map[string]File) []Change {
	var out []Change
	for rel, f := range was {
		now := is[rel]
		if now.Kind == Other {
			now = File{}
		}
		switch {
		case now.Kind == Absent:
			out = append(out, Change{Path: rel, Kind: Deleted, was: f})
		case now != f:
			out = append(out, Change{
				Path: rel,
				Kind: Modified,
				Link: now.Target,
				was:  f,
				is:   now,
			})
		}
	}
	for rel, f := range is {
		if _, ok := was[rel]; !ok && f.Kind != Other {
			out = append(out, Change{
				Path: rel,
				Kind: Added,
				Link: f.Target,
				is:   f,
			})
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		x := a.Kind == Deleted
		y := b.Kind == Deleted
		if x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out
}
