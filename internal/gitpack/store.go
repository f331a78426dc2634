package gitpack

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/openat"
)

// Store reads the objects of directories that are laid out as git's: loose files, and
// packs with their indexes.
type Store struct {
	dirs []string
	hash int

	packs []*openPack
	seen  map[string]bool // the indexes that are open
	work  work
}

type openPack struct {
	*pack
	*index
	files []*os.File
	path  string
	large bool // its index does not name every object
}

// Large is the extension of an empty file next to a pack whose index does not name
// every object.
const Large = ".large"

// Open returns the objects of some directories; a missing one has none. Sha256 is the
// format of their names.
func Open(sha256 bool, dirs ...string) *Store {
	s := &Store{dirs: dirs, hash: nameSize, seen: map[string]bool{}, work: work{maxWork}}
	if sha256 {
		s.hash = 32
	}
	return s
}

// Close closes the files.
func (s *Store) Close() error {
	for _, p := range s.packs {
		for _, f := range p.files {
			f.Close()
		}
	}
	s.packs, s.seen = nil, map[string]bool{}
	return nil
}

// Has reports whether the store has an object.
func (s *Store) Has(oid string) (bool, error) {
	id, err := s.binary(oid)
	if err != nil {
		return false, err
	}
	p, _, err := s.find(id)
	if err != nil || p != nil {
		return p != nil, err
	}
	f, err := s.loose(oid)
	if f == nil {
		return false, err
	}
	return true, f.Close()
}

// Read returns an object, whose bytes are valid until the next call. The error for one of more than limit bytes wraps ErrLimit,
// for a missing one ErrMissing.
func (s *Store) Read(oid string, limit int64) (Kind, []byte, error) {
	id, err := s.binary(oid)
	if err != nil {
		return 0, nil, err
	}
	p, off, err := s.find(id)
	if err != nil {
		return 0, nil, err
	}
	if p != nil {
		return p.object(off, limit)
	}
	f, err := s.loose(oid)
	if err != nil {
		return 0, nil, err
	}
	if f == nil {
		return 0, nil, s.missing()
	}
	defer f.Close()
	return s.readLoose(f, limit)
}

// missing is the error for an object that no pack and no file has.
func (s *Store) missing() error {
	if slices.ContainsFunc(s.packs, func(p *openPack) bool { return p.large }) {
		return beyond("it may be one of the objects of more than %d bytes, which were not read", int64(maxBase))
	}
	return ErrMissing
}

func (s *Store) binary(oid string) (string, error) {
	b, err := hex.DecodeString(oid)
	if err != nil || len(b) != s.hash {
		return "", fmt.Errorf("%w: the name %q", ErrFormat, oid)
	}
	return string(b), nil
}

// find returns the pack with an object. Packs that were added meanwhile are opened.
func (s *Store) find(id string) (*openPack, int64, error) {
	for again := range 2 {
		for _, p := range s.packs {
			if off, ok, err := p.find(id); err != nil || ok {
				return p, off, err
			}
		}
		if again == 0 {
			if err := s.open(); err != nil {
				return nil, 0, err
			}
		}
	}
	return nil, 0, nil
}

// open opens the packs that are not open.
func (s *Store) open() error {
	for _, dir := range s.dirs {
		dir = filepath.Join(dir, "pack")
		found, _ := os.ReadDir(dir) // what cannot be listed has no packs
		for _, e := range found {
			path := filepath.Join(dir, e.Name())
			if !strings.HasSuffix(path, ".idx") || s.seen[path] {
				continue
			}
			p, err := s.openPack(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // git removed it meanwhile
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			s.seen[path] = true
			s.packs = append(s.packs, p)
		}
	}
	return nil
}

func (s *Store) openPack(path string) (p *openPack, err error) {
	p = &openPack{path: path}
	defer func() {
		if err != nil {
			for _, f := range p.files {
				f.Close()
			}
		}
	}()
	base := strings.TrimSuffix(path, ".idx")
	var sizes [2]int64
	for i, name := range []string{path, base + ".pack"} {
		f, err := openat.OpenRegular(name)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, f)
		fi, err := f.Stat()
		if err != nil {
			return p, err
		}
		sizes[i] = fi.Size()
	}
	if p.index, err = openIndex(p.files[0], sizes[0], s.hash); err != nil {
		return p, err
	}
	_, missing := os.Stat(base + Large)
	p.large = missing == nil
	p.pack = newPack(p.files[1], sizes[1]-int64(s.hash), s.hash, &s.work)
	p.pack.baseOf = func(_ int64, name string) (int64, error) {
		off, ok, err := p.index.find(name)
		if err == nil && !ok {
			err = broken("a delta changes an object that is not in the pack")
		}
		return off, err
	}
	return p, nil
}

// loose opens the file of an object, nil if there is none.
func (s *Store) loose(oid string) (*os.File, error) {
	for _, dir := range s.dirs {
		f, err := openat.OpenRegular(filepath.Join(dir, oid[:2], oid[2:]))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	return nil, nil
}

// looseBuffer is what reading a loose object needs besides its bytes: 60 kB, for objects
// of which most have some hundred bytes.
type looseBuffer struct {
	in, data *bufio.Reader
	z        io.ReadCloser
}

var looseBuffers = sync.Pool{New: func() any {
	return &looseBuffer{in: bufio.NewReader(nil), data: bufio.NewReaderSize(nil, 16<<10)}
}}

// readLoose reads "KIND SIZE\0" and the bytes.
func (s *Store) readLoose(f *os.File, limit int64) (Kind, []byte, error) {
	b := looseBuffers.Get().(*looseBuffer)
	defer looseBuffers.Put(b)
	b.in.Reset(f)
	z, err := inflate(b.z, b.in)
	if err != nil {
		return 0, nil, err
	}
	b.z = z
	b.data.Reset(z)
	r := b.data
	first, err := r.Peek(32)
	if err != nil && err != io.EOF {
		return 0, nil, ended(err)
	}
	text, _, ok := strings.Cut(string(first), "\x00")
	word, digits, ok2 := strings.Cut(text, " ")
	kind, known := kindOf(word)
	size, err := parseSize(digits)
	if !ok || !ok2 || !known || err != nil {
		return 0, nil, broken("a loose object begins with %q", text)
	}
	if size > limit {
		return 0, nil, tooLong(size, limit)
	}
	if err := s.work.add(size); err != nil {
		return 0, nil, err
	}
	_, _ = r.Discard(len(text) + 1) // it was peeked
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, ended(err)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return 0, nil, broken("a loose object has more than %d bytes", size)
	}
	return kind, data, nil
}

func parseSize(digits string) (n int64, err error) {
	if digits == "" || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return 0, ErrBroken
	}
	for _, c := range digits {
		n = n*10 + int64(c-'0')
	}
	return n, nil
}
