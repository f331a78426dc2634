package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
)

// Names in the directory of a snapshot.
const (
	indexName = "index"
	filesName = "files"
	indexHead = "rye snapshot 1\n"
	maxIndex  = 64 << 20
)

// File is one file of a snapshot.
type File struct {
	Path       string      `json:"path"` // canonical, relative to the bundle
	Size       int64       `json:"size"`
	Executable bool        `json:"executable,omitempty"`
	Digest     item.Digest `json:"sha256"`
}

// Snapshot is the files of one commit, in the cache or in memory. Sum covers all of
// them. Each file is compared with its digest whenever it is read from the cache.
type Snapshot struct {
	Origin Origin
	Sum    string // h1:…
	Files  []File // sorted by path
	// Left are the paths of a whole commit that are not files which every system can store:
	// links, submodules and colliding names. Their bytes were not read.
	Left []treehash.File
	root string

	mu   sync.Mutex
	kept map[string][]byte // the files that were read since Keep; nil keeps none
}

// keepSize is the size, in bytes, up to which Keep has an effect.
const keepSize = 8 << 20

// Keep keeps the bytes of files that are read until Release, so that several checks
// read a bundle once. A snapshot above keepSize is read each time.
func (s *Snapshot) Keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil && s.Size() <= keepSize {
		s.kept = make(map[string][]byte, len(s.Files))
	}
}

// Release frees the kept bytes. A snapshot in memory keeps its files.
func (s *Snapshot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root != "" {
		s.kept = nil
	}
}

// InMemory returns a snapshot whose files are in memory and not in a cache.
func InMemory(
	o Origin,
	files map[string][]byte,
	executable func(path string) bool,
) (*Snapshot, error) {
	s := &Snapshot{Origin: o, kept: files}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		b := files[p]
		s.Files = append(s.Files, File{
			Path:       p,
			Size:       int64(len(b)),
			Executable: executable(p),
			Digest:     item.DigestOf(b),
		})
	}
	var err error
	s.Sum, err = sumOf(s.Files)
	return s, err
}

func (s *Snapshot) keptFile(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[path]
}

func (s *Snapshot) keepFile(path string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		s.kept[path] = b
	}
}

// Dir returns the read-only directory of the files. It is not verified: use Read, or
// verify copies.
func (s *Snapshot) Dir() string {
	return filepath.Join(s.root, filesName)
}

// Size returns the bytes of all files.
func (s *Snapshot) Size() (n int64) {
	for _, f := range s.Files {
		n += f.Size
	}
	return n
}

// File returns the entry of a path.
func (s *Snapshot) File(path string) (File, bool) {
	i, ok := slices.BinarySearchFunc(s.Files, path, func(f File, p string) int {
		return strings.Compare(f.Path, p)
	})
	if !ok {
		return File{}, false
	}
	return s.Files[i], true
}

// Read returns the verified bytes of one file. For a missing file the error
// satisfies errors.Is(err, fs.ErrNotExist).
func (s *Snapshot) Read(path string) ([]byte, error) {
	f, ok := s.File(path)
	if !ok {
		return nil, diag.New(
			diag.BundleFileMissing,
			"reading %s of %s %s: %w",
			path,
			s.Origin.ID,
			s.Origin.Version,
			fs.ErrNotExist,
		)
	}
	if b := s.keptFile(path); b != nil || s.root == "" {
		return b, nil
	}
	d, err := openat.Open(s.root)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening the cache: %w", err)
	}
	defer d.Close()
	return s.read(d, f)
}

func (s *Snapshot) read(d *openat.Dir, f File) ([]byte, error) {
	if b := s.keptFile(f.Path); b != nil {
		return b, nil
	}
	b, _, err := d.Read(filesName+"/"+f.Path, f.Size)
	if err == nil && item.DigestOf(b) == f.Digest {
		s.keepFile(f.Path, b)
		return b, nil
	}
	why := "its bytes differ from those that were stored"
	if err != nil && diag.CodeOf(err) != diag.TooLarge {
		why = err.Error()
	}
	return nil, diag.New(diag.HashMismatch, "reading %s from the cache (%s): %s", f.Path, s.root, why).
		WithReason("cache")
}

// Each calls fn with the verified bytes of every file, in the order of paths.
func (s *Snapshot) Each(ctx context.Context, fn func(f File, b []byte) error) error {
	if s.root == "" {
		return s.eachInMemory(ctx, fn)
	}
	d, err := openat.Open(s.root)
	if err != nil {
		return diag.New(diag.FileSystemError, "opening the cache: %w", err)
	}
	defer d.Close()
	for _, f := range s.Files {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		b, err := s.read(d, f)
		if err != nil {
			return err
		}
		if err := fn(f, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) eachInMemory(ctx context.Context, fn func(f File, b []byte) error) error {
	for _, f := range s.Files {
		if ctx.Err() != nil {
			return cancelled(ctx)
		}
		err := fn(f, s.keptFile(f.Path))
		if err != nil {
			return err
		}
	}
	return nil
}

// Tree returns the files in .ai for bundle.Verify.
func (s *Snapshot) Tree() bundle.Tree {
	return snapshotTree{s}
}

type snapshotTree struct{ s *Snapshot }

// Modes implements bundle.Tree: the index keeps modes on every system.
func (t snapshotTree) Modes() bool {
	return true
}

// Read implements bundle.Tree.
func (t snapshotTree) Read(path string, limit int64) ([]byte, bool, error) {
	f, ok := t.s.File(path)
	if ok && f.Size > limit {
		return nil, false, diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", path, f.Size, limit)
	}
	b, err := t.s.Read(path)
	return b, f.Executable, err
}

// Lists implements bundle.Listing.
func (t snapshotTree) Lists(path string) (size int64, d item.Digest, executable, ok bool) {
	f, ok := t.s.File(path)
	return f.Size, f.Digest, f.Executable, ok
}

// Walk implements bundle.Tree.
func (t snapshotTree) Walk(skip func(string) bool, fn func(string, error)) error {
	out := map[string]bool{}
	for _, f := range t.s.Files {
		if strings.HasPrefix(f.Path, ".ai/") && !skipped(f.Path, skip, out) {
			fn(f.Path, nil)
		}
	}
	return nil
}

// skipped reports whether skip excludes a directory above p. Known caches its
// results.
func skipped(p string, skip func(string) bool, known map[string]bool) bool {
	for i := 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		left, asked := known[p[:i]]
		if !asked {
			left = skip(p[:i])
			known[p[:i]] = left
		}
		if left {
			return true
		}
	}
	return false
}

// renderIndex returns the index of a snapshot: one line per file.
func renderIndex(files []File) []byte {
	var b bytes.Buffer
	b.WriteString(indexHead)
	for _, f := range files {
		fmt.Fprintf(
			&b,
			"%s %d %s %s\n",
			f.Digest.Hex(),
			f.Size,
			mode(f),
			f.Path,
		)
	}
	return b.Bytes()
}

func mode(f File) string {
	if f.Executable {
		return "0755"
	}
	return "0644"
}

var errIndex = errors.New("its index is not readable")

// parseIndex is the inverse of renderIndex. It refuses any other text.
func parseIndex(b []byte) ([]File, error) {
	rest, ok := strings.CutPrefix(string(b), indexHead)
	if !ok {
		return nil, errIndex
	}
	var files []File
	for line := range strings.Lines(rest) {
		words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(words) != 4 {
			return nil, errIndex
		}
		d, err := item.ParseDigest("sha256:" + words[0])
		size, err2 := strconv.ParseInt(words[1], 10, 64)
		if err != nil ||
			err2 != nil ||
			size < 0 ||
			size > bundle.MaxFile ||
			openat.CheckRel(words[3]) != nil {
			return nil, errIndex
		}
		files = append(files, File{
			Path:       words[3],
			Size:       size,
			Executable: words[2] == "0755",
			Digest:     d,
		})
	}
	sorted := slices.IsSortedFunc(files, func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	if !sorted || !bytes.Equal(renderIndex(files), b) {
		return nil, errIndex
	}
	return files, nil
}

// pendingSnapshot is a snapshot that is being written.
type pendingSnapshot struct {
	p     *cas.Pending
	files []File
	total int64
}

func (w *pendingSnapshot) add(path string, executable bool, b []byte) error {
	f := File{
		Path:       path,
		Size:       int64(len(b)),
		Executable: executable,
		Digest:     sha256.Sum256(b),
	}
	if w.total += f.Size; w.total > treehash.MaxSize {
		return diag.New(diag.TooLarge, "storing files: together they have more than %d bytes", treehash.MaxSize)
	}
	err := w.p.Add(cas.TreeFile{Rel: filesName + "/" + path, Bytes: b, Exec: executable})
	if err != nil {
		return err
	}
	w.files = append(w.files, f)
	return nil
}
