// Package cas stores verified bytes in read-only files named by their digest. The
// bytes that run are then the bytes that were verified.
//
// It does not verify signatures. It does not trust the store either: an entry is
// read and compared before its path is returned, and replaced if it differs or if
// another user owns it. A directory that another user can write or replace is an
// error. It does not protect against a process of the same user that changes an
// entry after that.
package cas

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
)

// Store is a cache directory: items/<sha256>/<name> for single files and
// trees/<digest>/ for sets of files. The zero value with Dir set is ready to use.
// It is safe for concurrent use, also by several processes.
type Store struct {
	Dir string           // absolute; created with mode 0700 if missing
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

// File returns the path of a read-only file with the name and the bytes b, whose
// SHA-256 must be digest. It is the only file in its directory.
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
		return "", diag.New(diag.PathEscape, "materialising %q: the name of a single file has no directory", f.Rel)
	}
	e, err := newEntry([]TreeFile{f})
	if err != nil {
		return "", err
	}
	// Two names for the same bytes need two directories: a program could import
	// one file from the directory of the other.
	key := hex.EncodeToString(digest[:])
	tag := sha256.Sum256(fmt.Appendf(nil, "%t %s", f.Exec, f.Rel))
	dir, err := s.put(
		items,
		key,
		key+"."+hex.EncodeToString(tag[:4]),
		e,
	)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, f.Rel), nil
}

// Tree returns the path of a read-only directory with exactly these files. Its name
// is a digest of their sorted paths, execute bits and digests.
func (s *Store) Tree(files []TreeFile) (string, error) {
	e, err := newEntry(files)
	if err != nil {
		return "", err
	}
	return s.put(trees, e.digest(), "", e)
}

// put returns the directory of an intact entry, and builds it if necessary. It uses
// the key alt if the directory has the same bytes under another name.
func (s *Store) put(kind, key, alt string, e *entry) (string, error) {
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
			key = alt
			alt = ""
			continue
		}
		if err = s.build(filepath.Join(s.Dir, kind), key, found, e); err != nil {
			return "", diag.New(diag.FileSystemError, "materialising %s: %w", at, err)
		}
	}
	return "", diag.New(diag.FileSystemError, "materialising %s/%s: another process keeps changing it", kind, key)
}

func (s *Store) open(kind string) (*openat.Dir, error) {
	if s.Dir == "" {
		return nil, diag.New(diag.ConfigError, "opening cache: neither RYE_CACHE nor HOME names a private directory")
	}
	if !filepath.IsAbs(s.Dir) {
		return nil, diag.New(diag.ConfigError, "opening cache: %q is not an absolute path", s.Dir)
	}
	// What is in this directory is written by path: a link here is refused now, and no
	// other user can put one here after the next check.
	err := atomicfile.Private(s.Dir).MkdirAll(kind)
	if err != nil {
		out := diag.Doing("creating cache", err)
		out.Reason = cmp.Or(out.Reason, "cache")
		return nil, out
	}
	// After creating it: in a sticky directory another user may have been faster.
	err = owner.Sealed(filepath.Join(s.Dir, kind))
	if err != nil {
		return nil, diag.New(diag.ConfigError, "opening the cache: %w", err).
			WithReason("cache_owner").
			WithDetail("path", s.Dir).
			WithDetail("variable", "RYE_CACHE")
	}
	return openat.Open(s.Dir)
}
