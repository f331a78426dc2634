package lock

import (
	"bytes"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Lookup reads rye.lock for a caller that asks for few entries of items, as a run does.
// The entries of other items cost nothing but the search in their bytes. It checks what ParseLock checks of the file as a whole (size, encoding, line
// ends, conflict markers, format, last line), of the head and of all bundles and members.
// An entry of an item is checked when Entry asks for it. A text that is not written in the
// order of Render is left to ParseLock.
//
// Only Bundle, Entry, CheckItem, CheckSystem and the checks of bundles may be called on
// the result: Items is empty.
func Lookup(b []byte) (*Lock, []diag.Finding) {
	if fs := precheck(b, MaxLock, "lock"); len(fs) > 0 {
		return nil, fs
	}
	at := bytes.Index(b, itemStart)
	if at < 0 || b[len(b)-1] != '\n' || !onlyItems(b[at:]) {
		return ParseLock(b)
	}
	l, found := ParseLock(b[:at])
	if l == nil || diag.Failed(found) {
		return ParseLock(b)
	}
	l.unread = &unread{text: b, from: at}
	return l, found
}

var (
	entryStart = []byte("\n- ")
	itemStart  = []byte("\n- item: ")
)

// onlyItems reports whether a text has the lines of entries of items and no other, with
// names that are written without quotes, so that a name is found by its bytes.
func onlyItems(b []byte) bool {
	if bytes.IndexByte(b, '"') >= 0 {
		return false
	}
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		switch b[0] {
		case '\n', ' ':
		case '-':
			if !bytes.HasPrefix(b, itemStart[1:]) {
				return false
			}
		default: // such as the conflict markers of a merge
			return false
		}
		b = b[n:]
	}
	return true
}

// unread are the entries of items that Lookup left in the text.
type unread struct {
	text []byte
	from int // offset of the first entry
	once sync.Once
	all  []Item
	err  error
}

// Entry returns the entry of an item, nil if there is none. It is an error if the entry
// is not valid.
func (l *Lock) Entry(ref item.Ref) (*Item, error) {
	if l.unread == nil {
		return l.Item(ref), nil
	}
	text := l.unread.text
	start, again := l.unread.find(ref)
	switch {
	case again:
		_, err := l.all() // which reports the file
		return nil, err
	case start < 0:
		return nil, nil
	}
	end := len(text)
	if n := bytes.Index(text[start:], entryStart); n >= 0 {
		end = start + n + 1
	}
	p := &lockParser{l: &Lock{Minor: l.Minor}}
	head := true // of this part: it is empty
	for r := range scan(string(text[start:end])) {
		if !head {
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

// find returns the offset of the entry of an item, -1 if there is none. refuse reports
// that there are two, or that the name has something after it.
func (u *unread) find(ref item.Ref) (start int, refuse bool) {
	name := []byte(string(itemStart) + ref.String())
	start = -1
	for from := u.from; ; {
		i := bytes.Index(u.text[from:], name)
		if i < 0 {
			return start, false
		}
		at := from + i + 1
		from += i + len(name)
		switch c := u.text[from]; {
		case c == '\n' && start < 0:
			start = at
		case c == '\n' || plainPrefix(string(c)) == 0:
			return start, true
		}
	}
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
