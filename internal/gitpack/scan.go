package gitpack

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

const (
	packHead = 12
	nameSize = sha1.Size
	// minObject is the minimum size of an object in a pack: a header and an
	// empty zlib stream.
	minObject = 9
)

// name is the binary name of an object.
type name [nameSize]byte

// entry is one object of a pack that is being indexed.
type entry struct {
	off  int64
	name name
	base int32 // the entry that an ofsDelta changes
	kind Kind  // ofsDelta and refDelta until the name is known
	skip bool  // the delta results in more than maxBase bytes
}

// refBase is the base of a refDelta.
type refBase struct {
	base  name
	delta int32
}

// Table is the objects of a pack with their names.
type Table struct {
	Sum     string // the checksum of the pack, hexadecimal
	entries []entry
	refs    []refBase // sorted by base
	skipped int       // deltas whose results are too large to be named
	sum     name
}

// Skipped returns the number of objects that are not in the table: deltas of large
// objects, which cannot be named in bounded memory.
func (t *Table) Skipped() int { return t.skipped }

// Index reads a pack, which a remote sent, and names its objects. It compares each
// header with the bytes that follow, and the checksum. The error for a pack beyond the
// limits wraps ErrLimit. Memory does not depend on the sizes of objects: a blob is
// streamed, unless deltas change it.
func Index(ctx context.Context, r io.ReaderAt, size int64) (*Table, error) {
	return indexWithin(ctx, r, size, &work{maxWork})
}

func indexWithin(ctx context.Context, r io.ReaderAt, size int64, w *work) (*Table, error) {
	t := &Table{}
	if err := t.scan(ctx, r, size, w); err != nil {
		return nil, err
	}
	if err := t.resolve(ctx, r, size-nameSize, w); err != nil {
		return nil, err
	}
	return t, nil
}

// Count reads the header of a pack and returns the number of its objects. The error
// for more than size bytes can contain wraps ErrBroken, for more than MaxObjects ErrLimit.
func Count(head []byte, size int64) (int, error) {
	if len(head) < packHead || string(head[:4]) != "PACK" {
		return 0, broken("it does not begin as a pack does")
	}
	if v := binary.BigEndian.Uint32(head[4:]); v != 2 && v != 3 {
		return 0, broken("it has the version %d", v)
	}
	n := int64(binary.BigEndian.Uint32(head[8:]))
	if n > MaxObjects {
		return 0, beyond("its pack states %d objects, at most %d are allowed", n, MaxObjects)
	}
	if n > max(0, size-packHead-nameSize)/minObject {
		return 0, broken("its header states %d objects, which %d bytes cannot contain", n, size)
	}
	return int(n), nil
}

// tally counts and hashes the bytes that are read from a pack.
type tally struct {
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.sum.Write(p[:n])
	t.n += int64(n)
	return n, err
}

// scanner reads a pack from its beginning to its end.
type scanner struct {
	*Table
	raw  *tally
	in   *bufio.Reader
	z    io.ReadCloser
	data *bufio.Reader
	work *work
	buf  []byte
}

func (s *scanner) offset() int64 { return s.raw.n - int64(s.in.Buffered()) }

func (t *Table) scan(ctx context.Context, r io.ReaderAt, size int64, w *work) error {
	raw := &tally{r: io.NewSectionReader(r, 0, max(0, size-nameSize)), sum: sha1.New()} //nolint:gosec // as git does
	s := &scanner{Table: t, raw: raw, in: bufio.NewReaderSize(raw, 64<<10), data: bufio.NewReaderSize(nil, 16<<10), work: w, buf: make([]byte, 32<<10)}
	var first [packHead]byte
	if _, err := io.ReadFull(s.in, first[:]); err != nil {
		return ended(err)
	}
	n, err := Count(first[:], size)
	if err != nil {
		return err
	}
	t.entries = make([]entry, 0, n)
	for range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.next(ctx); err != nil {
			return err
		}
	}
	if _, err := s.in.ReadByte(); err != io.EOF {
		return broken("bytes follow its last object")
	}
	var stated name
	if _, err := r.ReadAt(stated[:], size-nameSize); err != nil && err != io.EOF {
		return err
	}
	if copy(t.sum[:], raw.sum.Sum(nil)); t.sum != stated {
		return broken("its checksum differs")
	}
	t.Sum = fmt.Sprintf("%x", t.sum)
	slices.SortFunc(t.refs, func(a, b refBase) int { return bytes.Compare(a.base[:], b.base[:]) })
	return nil
}

// next reads one object.
func (s *scanner) next(ctx context.Context) error {
	e := entry{off: s.offset(), base: -1}
	h, err := readHead(s.in, nameSize)
	if err != nil {
		return err
	}
	e.kind = h.kind
	switch h.kind {
	case ofsDelta:
		at, ok := slices.BinarySearchFunc(s.entries, e.off-h.back, func(e entry, off int64) int { return cmp.Compare(e.off, off) })
		if !ok {
			return broken("a delta changes no object of the pack")
		}
		e.base = int32(at)
	case refDelta:
		s.refs = append(s.refs, refBase{name([]byte(h.base)), int32(len(s.entries))})
	}
	if s.z, err = inflate(s.z, s.in); err != nil {
		return err
	}
	if e.base >= 0 || h.kind == refDelta {
		e.skip, err = s.sizes(ctx, h.size)
	} else {
		e.name, err = s.hash(ctx, h)
	}
	if e.skip {
		s.skipped++
	}
	s.entries = append(s.entries, e)
	return err
}

// hash names an object of any size.
func (s *scanner) hash(ctx context.Context, h head) (n name, err error) {
	sum := sha1.New() //nolint:gosec // as git does
	fmt.Fprintf(sum, "%s %d\x00", h.kind, h.size)
	err = s.inflated(ctx, h.size, s.z, sum)
	copy(n[:], sum.Sum(nil))
	return n, err
}

// sizes reads a delta and reports whether it has to do with objects above maxBase.
func (s *scanner) sizes(ctx context.Context, size int64) (skip bool, err error) {
	s.data.Reset(s.z)
	var first bytes.Buffer // the sizes at the beginning are at most 20 bytes
	_, err = io.CopyN(&first, s.data, min(20, size))
	if err != nil {
		return false, ended(err)
	}
	head := bufio.NewReaderSize(&first, 32)
	base, err := readSize(head)
	if err != nil {
		return false, err
	}
	result, err := readSize(head)
	if err != nil {
		return false, err
	}
	return max(base, result) > maxBase, s.inflated(ctx, size-min(20, size), s.data, io.Discard)
}

// inflated copies exactly size bytes, the rest of an object.
func (s *scanner) inflated(ctx context.Context, size int64, from io.Reader, to io.Writer) error {
	var n int64
	for {
		k, err := from.Read(s.buf)
		_, _ = to.Write(s.buf[:k]) // a hash
		if n += int64(k); n > size {
			return broken("an object has more than the %d bytes that its header states", size)
		}
		if adding := s.work.add(int64(k)); adding != nil {
			return adding
		}
		switch {
		case err == io.EOF && n == size:
			return nil
		case err == io.EOF:
			return broken("an object has %d bytes, its header states %d", n, size)
		case err != nil:
			return ended(err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// resolve names the objects that are stored as deltas, from each base to those that
// change it, so that the base is still in the cache.
func (t *Table) resolve(ctx context.Context, r io.ReaderAt, size int64, w *work) error {
	deltas := t.byBase()
	p := newPack(r, size, nameSize, w)
	p.baseOf = func(off int64, _ string) (int64, error) {
		return t.entries[t.entries[t.find(off)].base].off, nil
	}
	type task struct{ index, depth int32 }
	var todo []task
	for i := range t.entries {
		if t.entries[i].base >= 0 || t.entries[i].kind == refDelta {
			continue // reached from its base
		}
		todo = append(todo[:0], task{int32(i), 0})
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if at.depth > MaxDepth {
				return beyond("more than %d deltas depend on each other", MaxDepth)
			}
			if at.depth > 0 {
				named, err := t.nameDelta(p, at.index)
				if err != nil {
					return err
				}
				if !named {
					continue
				}
			}
			for _, d := range t.children(deltas, at.index) {
				todo = append(todo, task{d, at.depth + 1})
			}
		}
	}
	return t.finish()
}

// byBase returns the ofsDeltas, sorted by their bases.
func (t *Table) byBase() []int32 {
	n := 0
	for _, e := range t.entries {
		if e.base >= 0 {
			n++
		}
	}
	out := make([]int32, 0, n)
	for i, e := range t.entries {
		if e.base >= 0 {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(a, b int32) int { return int(t.entries[a].base) - int(t.entries[b].base) })
	return out
}

// children returns the deltas whose base is an object that has its name. It records
// the base of refDeltas.
func (t *Table) children(deltas []int32, of int32) []int32 {
	from, _ := slices.BinarySearchFunc(deltas, of, func(d, of int32) int { return int(t.entries[d].base) - int(of) })
	to := from
	for to < len(deltas) && t.entries[deltas[to]].base == of {
		to++
	}
	out := deltas[from:to:to]
	id := t.entries[of].name
	at, _ := slices.BinarySearchFunc(t.refs, id, func(r refBase, id name) int { return bytes.Compare(r.base[:], id[:]) })
	for ; at < len(t.refs) && t.refs[at].base == id; at++ {
		d := t.refs[at].delta
		if t.entries[d].kind == refDelta && t.entries[d].base < 0 { // a pack can contain an object twice
			t.entries[d].base = of
			out = append(out, d)
		}
	}
	return out
}

// nameDelta names one delta. It reports false for one that is skipped.
func (t *Table) nameDelta(p *pack, i int32) (bool, error) {
	e := &t.entries[i]
	if e.skip {
		return false, nil
	}
	kind, data, err := p.object(e.off, maxBase)
	if err != nil {
		return false, err
	}
	p.cache.put(e.off, object{kind, data})
	sum := sha1.New() //nolint:gosec // as git does
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	sum.Write(data)
	e.kind = kind
	copy(e.name[:], sum.Sum(nil))
	return true, nil
}

// find returns the entry at an offset.
func (t *Table) find(off int64) int {
	at, _ := slices.BinarySearchFunc(t.entries, off, func(e entry, off int64) int { return cmp.Compare(e.off, off) })
	return at
}

// finish sorts the entries by name and leaves out what could not be named.
func (t *Table) finish() error {
	unnamed := 0
	for _, e := range t.entries {
		if e.kind == ofsDelta || e.kind == refDelta {
			unnamed++
		}
	}
	if unnamed > 0 && t.skipped == 0 {
		return broken("%d deltas change objects that are not in the pack", unnamed)
	}
	t.skipped = unnamed
	t.refs = nil
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool { return e.kind == ofsDelta || e.kind == refDelta })
	slices.SortFunc(t.entries, func(a, b entry) int { return strings.Compare(string(a.name[:]), string(b.name[:])) })
	return nil
}
