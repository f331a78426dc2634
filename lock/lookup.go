package lock

import (
	"bytes"
	"sort"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Lookup reads rye.lock for a caller that asks for few entries of items, as a run does.
// The entries of other items cost nothing but the search in their bytes. Of the file as a
// whole it checks the size, the order of the entries, that each line is part of one, and that
// the last one is complete; of the head and of all bundles and members it checks what
// ParseLock checks. An entry of an item, and its encoding, is checked when Entry asks for it.
// A text that is not written in the order of Render is left to ParseLock.
//
// Only Bundle, Entry, CheckItem, CheckSystem and the checks of bundles may be called on
// the result: Items is empty.
func Lookup(b []byte) (*Lock, []diag.Finding) {
	at := bytes.Index(b, itemStart) + 1
	if at == 0 || len(b) > MaxLock || b[len(b)-1] != '\n' {
		return ParseLock(b)
	}
	starts, ok := itemStarts(b[at:])
	if !ok {
		return ParseLock(b)
	}
	l, found := ParseLock(b[:at-1])
	if l == nil || diag.Failed(found) {
		return ParseLock(b)
	}
	l.unread = &unread{text: b, from: at, starts: starts}
	return l, found
}

var itemStart = []byte("\n- item: ")

// itemStarts returns where the entries of items begin in a text that consists of them. It
// reports false for a text with other lines, with a name that is written in quotes, or with
// names that are not in ascending order: without these, a name is found by its bytes.
func itemStarts(b []byte) (starts []uint32, ok bool) {
	starts = make([]uint32, 0, len(b)/128)
	var last []byte
	for at := 0; at < len(b); {
		n := bytes.IndexByte(b[at:], '\n') + 1
		switch line := b[at : at+n-1]; {
		case len(line) == 0 || line[0] == ' ':
		case bytes.HasPrefix(line, itemStart[1:]):
			name := line[len(itemStart)-1:]
			if plainPrefix(name) < len(name) || bytes.Compare(last, name) >= 0 {
				return nil, false
			}
			starts, last = append(starts, uint32(at)), name
		default: // such as the conflict markers of a merge
			return nil, false
		}
		at += n
	}
	return starts, true
}

// unread are the entries of items that Lookup left in the text.
type unread struct {
	text   []byte
	from   int      // offset of the first entry
	starts []uint32 // of the entries, after from
	once   sync.Once
	all    []Item
	err    error
}

// Entry returns the entry of an item, nil if there is none. It is an error if the entry
// is not valid.
func (l *Lock) Entry(ref item.Ref) (*Item, error) {
	if l.unread == nil {
		return l.Item(ref), nil
	}
	start, end, ok := l.unread.find(ref.String())
	if !ok {
		return nil, nil
	}
	text := l.unread.text
	p := &lockParser{l: &Lock{Minor: l.Minor}, out: precheck(text[start:end], MaxLock, "lock")}
	head := true // of this part: it is empty
	for r := range scan(string(text[start:end])) {
		if !head && len(p.out) == 0 {
			p.entry(r)
		}
		head = false
	}
	if diag.Failed(p.out) {
		before := bytes.Count(text[:start], []byte("\n"))
		for k := range p.out {
			p.out[k].Line += before
		}
		return nil, diag.FromFindings("reading "+LockFile, diag.WithPath(p.out, LockFile))
	}
	return &p.l.Items[0], nil
}

// find returns where the entry with a name begins and ends.
func (u *unread) find(name string) (start, end int, ok bool) {
	at := func(i int) int { return u.from + int(u.starts[i]) }
	i, ok := sort.Find(len(u.starts), func(i int) int {
		line := u.text[at(i)+len(itemStart)-1:]
		return strings.Compare(name, string(line[:bytes.IndexByte(line, '\n')]))
	})
	if !ok {
		return 0, 0, false
	}
	if end = len(u.text); i+1 < len(u.starts) {
		end = at(i + 1)
	}
	return at(i), end, true
}

// all returns every entry of an item.
func (l *Lock) all() ([]Item, error) {
	if l.unread == nil {
		return l.Items, nil
	}
	u := l.unread
	u.once.Do(func() {
		full, found := ParseLock(u.text)
		if u.err = diag.FromFindings("reading "+LockFile, diag.WithPath(found, LockFile)); full != nil {
			u.all = full.Items
		}
	})
	return u.all, u.err
}
