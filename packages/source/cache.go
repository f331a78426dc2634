package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/internal/openat"
)

// Cache is the directory of fetched data: snapshots in cas/h1-…, git repositories in
// git/. Any number of processes may use it at the same time, and a killed process
// leaves nothing to repair. Contents are verified when they are read.
type Cache struct {
	Store *cas.Store // Dir is $RYE_CACHE
}

// NewCache returns the cache in a directory. A nil now means time.Now.
func NewCache(dir string, now func() time.Time) *Cache {
	return &Cache{Store: &cas.Store{Dir: dir, Now: now}}
}

func (c *Cache) now() time.Time {
	if c.Store.Now != nil {
		return c.Store.Now()
	}
	return time.Now()
}

// Writer writes the files of one snapshot.
type Writer struct {
	c *Cache
	w pendingSnapshot
}

// Write starts a snapshot. The caller must call Discard, which does nothing after
// Commit.
func (c *Cache) Write() (*Writer, error) {
	p, err := c.Store.Begin()
	if err != nil {
		return nil, err
	}
	return &Writer{c, pendingSnapshot{p: p}}, nil
}

// Add stores one file.
func (w *Writer) Add(path string, executable bool, b []byte) error {
	if len(w.w.files) >= bundle.MaxFiles {
		return diag.New(diag.TooLarge, "storing files: there are more than %d", bundle.MaxFiles)
	}
	return w.w.add(path, executable, b)
}

// Discard removes what was not committed.
func (w *Writer) Discard() {
	w.w.p.Discard()
}

// Commit moves the snapshot to the directory that its sum names.
func (w *Writer) Commit(ctx context.Context, o Origin) (*Snapshot, error) {
	slices.SortFunc(w.w.files, func(a, b File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	sum, err := sumOf(w.w.files)
	if err != nil {
		return nil, err
	}
	key, err := snapshotKey(sum)
	if err != nil {
		return nil, err
	}
	err = w.w.p.Add(cas.TreeFile{Rel: indexName, Bytes: renderIndex(w.w.files)})
	if err != nil {
		return nil, err
	}
	root, err := w.w.p.Commit(ctx, key, func(string) bool {
		return w.c.intact(ctx, sum)
	})
	if err != nil {
		return nil, err
	}
	return &Snapshot{
		Origin: o,
		Sum:    sum,
		Files:  w.w.files,
		root:   root,
	}, nil
}

// intact reports whether the snapshot exists and every file verifies.
func (c *Cache) intact(ctx context.Context, sum string) bool {
	s, err := c.Open(sum)
	return err == nil && s.verify(ctx) == nil
}

// Open returns the snapshot with a sum. It verifies the index; files are verified
// when they are read. If the snapshot is not in the cache, the error satisfies
// errors.Is(err, fs.ErrNotExist).
func (c *Cache) Open(sum string) (*Snapshot, error) {
	key, err := snapshotKey(sum)
	if err != nil {
		return nil, err
	}
	root := c.Store.SnapshotDir(key)
	b, _, err := openat.Read(root, indexName, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.SourceNotFound, "looking for %s in the cache: %w", sum, fs.ErrNotExist)
	}
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the cache: %w", err)
	}
	files, err := parseIndex(b)
	if err == nil {
		var got string
		if got, err = sumOf(files); err == nil && got != sum {
			err = errIndex
		}
	}
	if err != nil {
		return nil, diag.New(diag.HashMismatch, "reading %s from the cache: %w", root, err)
	}
	c.Used(root)
	return &Snapshot{Sum: sum, Files: files, root: root}, nil
}

// verify reads every file and refuses files that are not in the index.
func (s *Snapshot) verify(ctx context.Context) error {
	err := s.Each(ctx, func(File, []byte) error { return nil })
	if err != nil {
		return err
	}
	known := map[string]bool{indexName: true}
	for _, f := range s.Files {
		known[filesName+"/"+f.Path] = true
	}
	return filepath.WalkDir(s.root, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.root, p)
		if err == nil && !d.IsDir() && !known[filepath.ToSlash(rel)] {
			err = diag.New(diag.HashMismatch, "reading %s: it has %s, which is not in its index", s.root, filepath.ToSlash(rel))
		}
		return err
	})
}

// Used records the use of a directory of the cache for GC. A cache that cannot be
// written is not an error: reading from it works.
func (c *Cache) Used(path string) {
	now := c.now()
	fi, err := os.Stat(path)
	if err == nil && now.Sub(fi.ModTime()) > time.Hour {
		_ = os.Chtimes(path, time.Time{}, now)
	}
}
