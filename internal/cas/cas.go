// Package cas puts verified bytes into read-only files named by their digest,
// so that the bytes that were checked are the bytes that run.
//
// It does not verify signatures and decides nothing about trust. What lies in
// the store is never believed: an entry is read and compared before its path
// is given out, and one that differs in anything is replaced. Against a writer
// with the user's own rights who strikes after that, only Memfd helps.
package cas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Store is a cache folder: items/<sha256>/<name> for single files and
// trees/<digest>/ for sets of files. Its zero value with Dir set is ready, and
// safe for many goroutines and processes at once.
type Store struct {
	Dir string           // absolute; created with mode 0700 when missing
	Now func() time.Time // nil means time.Now

	sweep sync.Once
}

// TreeFile is one file of a tree.
type TreeFile struct {
	Rel   string // canonical, with forward slashes
	Bytes []byte
	Exec  bool
}

const (
	items = "items"
	trees = "trees"
)

// File returns the path of a read-only file called name that holds b, whose
// SHA-256 must be digest, alone in its folder.
func (s *Store) File(digest [32]byte, name string, b []byte) (string, error) {
	return s.single(digest, TreeFile{Rel: name, Bytes: b})
}

// Executable is File with the execute bits set.
func (s *Store) Executable(digest [32]byte, name string, b []byte) (string, error) {
	return s.single(digest, TreeFile{Rel: name, Bytes: b, Exec: true})
}

func (s *Store) single(digest [32]byte, f TreeFile) (string, error) {
	if sha256.Sum256(f.Bytes) != digest {
		return "", diag.New(diag.HashMismatch, "materialising %q: the bytes do not have the digest sha256:%x", f.Rel, digest)
	}
	if strings.Contains(f.Rel, "/") {
		return "", diag.New(diag.PathEscape, "materialising %q: a single file has no folder", f.Rel)
	}
	e, err := newEntry([]TreeFile{f})
	if err != nil {
		return "", err
	}
	// Two names for the same bytes must not share a folder, for a program
	// would import one as the neighbour of the other.
	key := hex.EncodeToString(digest[:])
	tag := sha256.Sum256(fmt.Appendf(nil, "%t %s", f.Exec, f.Rel))
	dir, err := s.place(items, key, key+"."+hex.EncodeToString(tag[:4]), e)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, f.Rel), nil
}

// Tree returns the path of a read-only folder that holds exactly files. Its
// name is a digest over their sorted paths, execute bits and digests.
func (s *Store) Tree(files []TreeFile) (string, error) {
	e, err := newEntry(files)
	if err != nil {
		return "", err
	}
	return s.place(trees, e.digest(), "", e)
}

// place returns the folder of an entry that was seen intact. When the folder
// holds the same bytes under another name, alt takes its place.
func (s *Store) place(kind, key, alt string, e *entry) (string, error) {
	root, err := s.open(kind)
	if err != nil {
		return "", err
	}
	defer root.Close()
	for range 20 {
		at := kind + "/" + key
		found := e.inspect(root, s.Dir, at)
		switch {
		case found == intact:
			return filepath.Join(s.Dir, kind, key), nil
		case found == broken && alt != "" && e.otherName(root, at):
			key, alt = alt, ""
			continue
		}
		if err = s.build(filepath.Join(s.Dir, kind), key, found, e); err != nil {
			return "", diag.New(diag.FileSystemError, "materialising %s: %w", at, err)
		}
	}
	return "", diag.New(diag.FileSystemError, "materialising %s/%s: it changes as often as it is written", kind, key)
}

func (s *Store) open(kind string) (*openat.Dir, error) {
	if s.Dir == "" {
		return nil, diag.New(diag.ConfigError, "opening cache: the environment names no folder for it that is private").WithHint("set HOME or RYE_CACHE")
	}
	if !filepath.IsAbs(s.Dir) {
		return nil, diag.New(diag.ConfigError, "opening cache: %q is not an absolute path", s.Dir)
	}
	err := os.MkdirAll(s.Dir, 0o700)
	if err == nil {
		err = os.Mkdir(filepath.Join(s.Dir, kind), 0o755)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, diag.New(diag.FileSystemError, "creating cache: %w", err).WithHint("make it writable, or let RYE_CACHE name another folder")
	}
	return openat.Open(s.Dir)
}
