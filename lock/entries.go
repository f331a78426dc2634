package lock

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
)

// Entries is a lock of which few entries of items are read or changed. The others stay the
// text that they are.
type Entries struct {
	above   *Lock              // what is before the items
	text    string             // of the items
	refs    []item.Ref         // of the items, ascending
	starts  []int              // of their entries in the text
	named   map[string]bool    // the refs that chains and uses have, except those of the entries themselves
	quoted  bool               // the text may have other names with quotes
	changed map[item.Ref]*Item // nil if the entry was removed
}

// ReadEntries reads a text that is valid and written as Render writes it: it checks what
// ParseLock checks. It returns nil for any other text, and for one without items.
func ReadEntries(b []byte) *Entries {
	at := bytes.Index(b, itemStart)
	if at <= 0 || len(precheck(b, MaxLock, "lock")) > 0 {
		return nil
	}
	above, found := parseLock(b[:at])
	if above == nil || len(found) > 0 || above.Minor != LockMinor {
		return nil
	}
	n := bytes.Count(b[at:], itemStart)
	e := &Entries{above: above, text: string(b[at:]), refs: make([]item.Ref, 0, n), starts: make([]int, 0, n),
		named: map[string]bool{}, changed: map[item.Ref]*Item{}}
	c := entryChecker{links: linkReader{}, named: e.named}
	for start := 0; start < len(e.text); {
		entry := e.text[start:]
		if n := strings.Index(entry[1:], "\n- "); n >= 0 {
			entry = entry[:1+n]
		}
		ref, ok := c.check(entry)
		if n := len(e.refs); !ok || n > 0 && CompareRefs(e.refs[n-1], ref) >= 0 {
			return nil
		}
		e.refs, e.starts = append(e.refs, ref), append(e.starts, start)
		start += len(entry)
	}
	e.quoted = c.quoted
	return e
}

// entryChecker checks entries without the lists that they contain.
type entryChecker struct {
	links  linkReader
	named  map[string]bool
	quoted bool
}

// check returns the ref of an entry that is written as Render writes it.
func (c *entryChecker) check(entry string) (item.Ref, bool) {
	name, s, ok1 := line(entry, string(itemStart))
	digest, s, ok2 := line(s, "  digest: ")
	self, ok3 := parseLink(linkText{name, digest})
	if !ok1 || !ok2 || !ok3 || self.Digest == (item.Digest{}) || plainPrefix(digest) < len(digest) {
		return c.slow(entry)
	}
	text := linkText{name, digest}
	if list, after, has := line(s, "  chain: ["); has {
		if s = after; !c.list(list, text, self, false) {
			return c.slow(entry)
		}
	} else if self.Ref.Kind == item.Tool {
		return c.slow(entry)
	}
	if list, after, has := line(s, "  uses: ["); has {
		if s = after; !c.list(list, text, self, true) {
			return c.slow(entry)
		}
	}
	if s != "" {
		return c.slow(entry)
	}
	return self.Ref, true
}

// slow checks an entry with other fields as the parser does.
func (c *entryChecker) slow(entry string) (item.Ref, bool) {
	it, ok := slowItem(entry)
	c.quoted = c.quoted || strings.Contains(entry, `"`)
	for _, l := range slices.Concat(it.Chain, it.Uses) {
		if l.Ref != it.Ref {
			c.named[l.Ref.String()] = true
		}
	}
	return it.Ref, ok
}

// list checks the links of a list without its first bracket. self is the item itself, with
// which a chain begins. Uses are in order, each once.
func (c *entryChecker) list(s string, selfText linkText, self Link, uses bool) bool {
	s, ok := strings.CutSuffix(s, "]")
	var before Link
	for first := true; ok; first = false {
		element, rest, more := strings.Cut(s, ", ")
		l, isNew, ok := c.links.read(element, selfText, self)
		if !ok {
			return false
		}
		if isNew {
			c.named[l.Ref.String()] = true
		}
		if uses && !first && compareLinks(before, l) >= 0 || !uses && first && l != self {
			return false
		}
		if before, s = l, rest; !more {
			return true
		}
	}
	return false
}

// find returns the position of an entry in the text, and whether there is one.
func (e *Entries) find(ref item.Ref) (int, bool) {
	return slices.BinarySearchFunc(e.refs, ref, CompareRefs)
}

// entry returns the text of the entry at a position.
func (e *Entries) entry(i int) string {
	if i+1 < len(e.starts) {
		return e.text[e.starts[i]:e.starts[i+1]]
	}
	return e.text[e.starts[i]:]
}

// Item returns the entry of an item, or nil.
func (e *Entries) Item(ref item.Ref) *Item {
	if it, ok := e.changed[ref]; ok {
		return it
	}
	i, ok := e.find(ref)
	if !ok {
		return nil
	}
	it, _ := slowItem(e.entry(i)) // it was checked
	return &it
}

// SetItem replaces the entry with the same ref, or adds it.
func (e *Entries) SetItem(it Item) { e.changed[it.Ref] = &it }

// RemoveItem removes the entry of an item and reports whether there was one.
func (e *Entries) RemoveItem(ref item.Ref) bool {
	if e.Item(ref) == nil {
		return false
	}
	e.changed[ref] = nil
	return true
}

// Known returns the items that had entries when the text was read. The caller must not
// change the list.
func (e *Entries) Known() []item.Ref { return e.refs }

// Refs returns the items that have entries.
func (e *Entries) Refs() iter.Seq[item.Ref] {
	return func(yield func(item.Ref) bool) {
		for _, ref := range e.refs {
			if it, ok := e.changed[ref]; ok && it == nil {
				continue
			}
			if !yield(ref) {
				return
			}
		}
		for ref, it := range e.changed {
			if _, old := e.find(ref); it != nil && !old && !yield(ref) {
				return
			}
		}
	}
}

// Naming returns the items whose chains or uses have one of some other items, as they were
// read.
func (e *Entries) Naming(refs map[item.Ref]bool) []item.Ref {
	var names []string
	for ref := range refs {
		if name := ref.String(); e.named[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var out []item.Ref
	for i, ref := range e.refs {
		text := e.entry(i)
		if !e.quoted && !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) }) {
			continue
		}
		if it, _ := slowItem(text); it.naming(refs) {
			out = append(out, ref)
		}
	}
	return out
}

// Render returns the canonical text of the lock: that of the entries that did not change
// is copied.
func (e *Entries) Render() []byte {
	above := e.above.sorted()
	b := make([]byte, 0, above.size()+len(e.text)+512*len(e.changed))
	for r := range above.aboveItems() {
		b = r.append(b)
	}
	from := 0
	for _, ref := range slices.SortedFunc(maps.Keys(e.changed), CompareRefs) {
		i, old := e.find(ref)
		start := len(e.text)
		if i < len(e.starts) {
			start = e.starts[i]
		}
		b = append(b, e.text[from:start]...)
		if from = start; old {
			from += len(e.entry(i))
		}
		if it := e.changed[ref]; it != nil {
			one := (&Lock{Items: []Item{*it}}).sorted() // sorts the lists of the entry
			b = one.Items[0].record().append(b)
		}
	}
	return append(b, e.text[from:]...)
}
