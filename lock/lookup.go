package lock

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"sort"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/item"
)

// ReadLookup is ReadLock for a caller that asks for few entries of items, as a run does. The
// entries of other items cost nothing but the search in their bytes, and a long file is not
// kept in memory. Of the file as a whole it checks the size, the order of the entries, that
// each line is part of one, and that the last one is complete; of the head and of all bundles
// and members it checks what ReadLock checks. An entry of an item, and its encoding, is
// checked when Entry asks for it. A text that is not written in the order of Render is read
// whole.
//
// Only Bundle, Entry, CheckItem, CheckSystem and the checks of bundles may be called on
// the result: Items is empty.
func ReadLookup(files Files, where string) (l *Lock, notes []diag.Finding, err error) {
	dir, ok := files.(Dir)
	if !ok {
		l, _, notes, err = ReadLockBy(files, where, Lookup)
		return l, notes, err
	}
	if l, notes, ok = dir.lookup(); !ok {
		l, _, notes, err = ReadLockBy(files, where, Lookup)
		return l, notes, err
	}
	notes = diag.WithPath(notes, LockFile)
	return l, notes, diag.FromFindings("reading "+where+LockFile, notes)
}

// lookup reads a long file in parts. It reports false for one that must be read whole.
func (d Dir) lookup() (l *Lock, notes []diag.Finding, ok bool) {
	dir, err := openat.Open(string(d))
	if err != nil {
		return nil, nil, false
	}
	defer dir.Close()
	f, info, err := dir.File(LockFile, MaxLock)
	if err != nil {
		return nil, nil, false
	}
	if info.Size > windowSize {
		l, notes, ok = lookup(f, info.Size)
	}
	if !ok {
		f.Close() // else when the Lock is not used any more
	}
	return l, notes, ok
}

// Lookup is ReadLookup of a text.
func Lookup(b []byte) (*Lock, []diag.Finding) {
	if l, notes, ok := lookup(bytes.NewReader(b), int64(len(b))); ok {
		return l, notes
	}
	return ParseLock(b)
}

// windowSize is how much of a file is in memory at a time. The head, with the entries of all
// bundles, is in the first part, or the file is read whole.
const windowSize = 256 << 10

var itemStart = []byte("\n- item: ")

// lookup reads the head and finds where the entries of items begin. It reports false for a
// text that ParseLock must read.
func lookup(file io.ReaderAt, size int64) (l *Lock, notes []diag.Finding, ok bool) {
	if size > MaxLock {
		return nil, nil, false
	}
	u := &unread{file: file, size: size}
	window := make([]byte, min(size, windowSize))
	for at := int64(0); at < size; {
		b := window[:min(size-at, windowSize)]
		if n, _ := file.ReadAt(b, at); n < len(b) {
			return nil, nil, false
		}
		end := bytes.LastIndexByte(b, '\n') + 1
		if end == 0 || at+int64(len(b)) == size && end < len(b) { // a long line, or one that is cut off
			return nil, nil, false
		}
		b = b[:end]
		from := at
		at += int64(end)
		if l == nil {
			head := bytes.Index(b, itemStart)
			if head < 0 {
				return nil, nil, false
			}
			if l, notes = ParseLock(b[:head]); l == nil || diag.Failed(notes) {
				return nil, nil, false
			}
			b, from = b[head+1:], from+int64(head+1)
		}
		if !u.add(b, from) {
			return nil, nil, false
		}
	}
	if l != nil {
		l.unread = u
	}
	return l, notes, l != nil
}

// unread are the entries of items that lookup left in the file.
type unread struct {
	file   io.ReaderAt
	size   int64
	starts []uint32 // where the entries begin
	last   []byte   // the name of the last one
}

// add takes the starts of entries from lines of entries. It reports false for other lines,
// for quotes, in which a name can be written in several ways, and for names that are not in
// ascending order: without these, a name is found by its bytes, also in a chain.
func (u *unread) add(b []byte, from int64) bool {
	if bytes.IndexByte(b, '"') >= 0 {
		return false
	}
	last := u.last
	for at := 0; at < len(b); {
		n := bytes.IndexByte(b[at:], '\n') + 1
		switch line := b[at : at+n-1]; {
		case len(line) == 0 || line[0] == ' ':
		case bytes.HasPrefix(line, itemStart[1:]):
			name := line[len(itemStart)-1:]
			if plainPrefix(name) < len(name) || bytes.Compare(last, name) >= 0 {
				return false
			}
			u.starts, last = append(u.starts, uint32(from)+uint32(at)), name
		default: // such as the conflict markers of a merge
			return false
		}
		at += n
	}
	u.last = bytes.Clone(last) // b is used again
	return true
}

// Entry returns the entry of an item, nil if there is none. It is an error if the entry
// is not valid.
func (l *Lock) Entry(ref item.Ref) (*Item, error) {
	if l.unread == nil {
		return l.Item(ref), nil
	}
	i, ok, err := l.unread.find(ref.String())
	if !ok || err != nil {
		return nil, err
	}
	it, err := l.unread.entry(i, l.Minor)
	if err == nil && it.Ref != ref {
		return nil, errChanged
	}
	return it, err
}

// linking returns the entries with a text that names an item, in their order: those of which
// it is a part, and a few others.
func (l *Lock) linking(ref item.Ref) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		if l.unread == nil {
			for i := range l.Items {
				if !yield(&l.Items[i], nil) {
					return
				}
			}
			return
		}
		for i, err := range l.unread.naming([]byte(ref.String())) {
			var it *Item
			if err == nil {
				it, err = l.unread.entry(i, l.Minor)
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// naming returns the numbers of the entries that contain a name.
func (u *unread) naming(name []byte) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		window := make([]byte, min(u.size, windowSize))
		for at := int64(u.starts[0]); at < u.size; {
			b := window[:min(u.size-at, windowSize)]
			if err := u.readInto(b, at); err != nil {
				yield(0, err)
				return
			}
			found := bytes.Index(b, name)
			if found < 0 {
				if at+int64(len(b)) == u.size {
					return
				}
				at += int64(len(b) - len(name) + 1) // the name can be in two windows
				continue
			}
			i, same := slices.BinarySearch(u.starts, uint32(at)+uint32(found))
			if !same {
				i-- // the entry that begins before the name
			}
			if !yield(i, nil) || i+1 == len(u.starts) {
				return
			}
			at = int64(u.starts[i+1])
		}
	}
}

// entry reads one entry.
func (u *unread) entry(i, minor int) (*Item, error) {
	start, end := int64(u.starts[i]), u.size
	if i+1 < len(u.starts) {
		end = int64(u.starts[i+1])
	}
	b, err := u.read(start, end)
	if err != nil {
		return nil, err
	}
	p := &lockParser{l: &Lock{Minor: minor}, out: precheck(b, MaxLock, "lock")}
	head := true // of this part: it is empty
	for r := range scan(string(b)) {
		if !head && len(p.out) == 0 {
			p.entry(r)
		}
		head = false
	}
	if diag.Failed(p.out) {
		before, err := u.read(0, start)
		if err != nil {
			return nil, err
		}
		for k := range p.out {
			p.out[k].Line += bytes.Count(before, []byte("\n"))
		}
		return nil, diag.FromFindings("reading "+LockFile, diag.WithPath(p.out, LockFile))
	}
	if len(p.l.Items) != 1 {
		return nil, errChanged
	}
	p.l.Sort() // its uses, as ParseLock does
	return &p.l.Items[0], nil
}

var errChanged = diag.New(diag.FileSystemError, "reading %s: the file changed while it was read; repeat the command", LockFile)

// read returns a part of the file.
func (u *unread) read(start, end int64) ([]byte, error) {
	b := make([]byte, end-start)
	return b, u.readInto(b, start)
}

func (u *unread) readInto(b []byte, at int64) error {
	switch n, err := u.file.ReadAt(b, at); {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return errChanged
	default:
		return diag.New(diag.FileSystemError, "reading %s: %w", LockFile, err)
	}
}

// find returns the number of the entry with a name.
func (u *unread) find(name string) (i int, ok bool, err error) {
	const before = len("- item: ")
	i, ok = sort.Find(len(u.starts), func(i int) int {
		at := int64(u.starts[i])
		b, rerr := u.read(at, min(u.size, at+int64(before+len(name)+1)))
		if rerr != nil || len(b) < before {
			err = rerr
			return 0
		}
		line, _, _ := bytes.Cut(b[before:], []byte("\n"))
		return strings.Compare(name, string(line))
	})
	return i, ok, err
}
