package openat

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// spelling finds out whether a path is spelled as its names are in the directories.
// Some file systems open "tools/x.sh" also where only "Tools/X.sh" is. An id would then
// have several spellings, of which rules and locks name one, and other systems would
// not have the item.
type spelling struct {
	folds func(rel string) (folds, sure bool) // whether other spellings find the entry at rel
	list  func(rel string) ([]fs.DirEntry, error)

	mu    sync.Mutex
	known bool // exact is valid
	exact bool // the file system distinguishes spellings
	names map[string]map[string]bool
}

// check returns an error that satisfies errors.Is(err, fs.ErrNotExist) if the entry at
// rel, which exists, has another spelling.
func (s *spelling) check(rel string) error {
	if rel == "." || !s.needed(rel) {
		return nil
	}
	at := "."
	for elem := range strings.SplitSeq(rel, "/") {
		if err := s.find(at, elem); err != nil {
			return err
		}
		if at == "." {
			at = elem
		} else {
			at += "/" + elem
		}
	}
	return nil
}

// needed reports whether the file system folds case. It asks until a path that exists
// has shown it.
func (s *spelling) needed(rel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		folds, sure := s.folds(rel)
		s.known = sure
		s.exact = !folds
	}
	return s.known && !s.exact
}

func (s *spelling) find(dir, elem string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[dir][elem] {
		return nil
	}
	des, err := s.list(dir) // the entry may be newer than the names that are known
	if err != nil {
		return err
	}
	names := map[string]bool{}
	other := ""
	for _, de := range des {
		names[de.Name()] = true
		if strings.EqualFold(de.Name(), elem) {
			other = de.Name()
		}
	}
	if s.names == nil {
		s.names = map[string]map[string]bool{}
	}
	s.names[dir] = names
	if names[elem] {
		return nil
	}
	return fault(
		diag.FileSystemError,
		filepath.ToSlash(filepath.Join(dir, elem)),
		fmt.Sprintf("the name on the disk is %q", other),
		fs.ErrNotExist,
	)
}

// Spelled reports whether the entry at rel, which exists, is spelled as on the disk.
// What cannot be inspected is.
func (d *Dir) Spelled(rel string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.b == nil || !isMissing(d.spelling.check(rel))
}

// checkSpelled returns an error for an element of the path rel, which exists below f,
// that the disk spells in another way: what is written there would be in a directory
// that readers do not find.
func (f *Folder) checkSpelled(rel string) error {
	if rel == "." {
		return nil
	}
	dir := f.path
	for elem := range strings.SplitSeq(rel, "/") {
		if !distinguishes(dir, elem) && !Spelled(dir, elem) {
			return diag.New(diag.AmbiguousItem, "opening %s: the directory on the disk has another spelling", strconv.Quote(f.child(rel, handle{}).rel)).
				WithReason("spelling").WithDetail("entry", elem)
		}
		dir = filepath.Join(dir, elem)
	}
	return nil
}

// exactDirs are directories in which an entry was not found under another spelling: the
// file system decides it for all entries of a directory.
var exactDirs struct {
	sync.Mutex
	paths map[string]bool
}

// maxExactDirs limits them in a process that writes to ever new directories.
const maxExactDirs = 256

// distinguishes reports whether a directory is known to distinguish spellings, or shows it
// by the entry with this name. Letters beyond ASCII show nothing: a file system may fold
// others only. A directory that is replaced later is treated as the first.
func distinguishes(dir, name string) bool {
	exactDirs.Lock()
	known := exactDirs.paths[dir]
	exactDirs.Unlock()
	if known {
		return true
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	folds, sure := foldsAt(dir, name)
	if folds || !sure {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, name))
	if err != nil { // it went while it was compared
		return false
	}
	exactDirs.Lock()
	defer exactDirs.Unlock()
	if exactDirs.paths == nil || len(exactDirs.paths) == maxExactDirs {
		exactDirs.paths = map[string]bool{}
	}
	exactDirs.paths[dir] = true
	return true
}

// foldsBelow returns the function folds for a directory.
func foldsBelow(root string) func(string) (bool, bool) {
	return func(rel string) (folds, sure bool) {
		return foldsAt(root, filepath.FromSlash(rel))
	}
}

// foldsAt reports whether the file system finds the entry at rel below root also
// under another spelling. It is not sure if the entry has no other spelling.
func foldsAt(root, rel string) (folds, sure bool) {
	other := swapCase(rel)
	if other == rel {
		return false, false
	}
	fi, err := os.Lstat(filepath.Join(root, rel))
	if err != nil {
		return false, false
	}
	alike, err := os.Lstat(filepath.Join(root, other))
	return err == nil && os.SameFile(fi, alike), true
}

// Spelled reports whether an entry of a directory, if it exists, is spelled as on the
// disk.
func Spelled(dir, name string) bool {
	if folds, _ := foldsAt(dir, name); !folds {
		return true
	}
	des, err := os.ReadDir(dir)
	return err != nil ||
		slices.ContainsFunc(des, func(de fs.DirEntry) bool {
			return de.Name() == name
		})
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); up != r {
			return up
		}
		return unicode.ToLower(r)
	}, s)
}
