package lock

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/item"
)

// quickLock reads a text that is valid and written as Render writes it, nil for any
// other: the parser with findings reads that. Items are most of a large lock, and their
// entries are read here in one pass, without the records that the parser needs.
func quickLock(b []byte) *Lock {
	at := bytes.Index(b, itemStart)
	if at <= 0 { // a lock begins with its format
		return nil
	}
	l, found := parseLock(b[:at])
	if l == nil || len(found) > 0 || l.Minor != LockMinor {
		return nil
	}
	l.canonical = readItems(string(b[at:]), parallel)
	if l.canonical == nil {
		return nil
	}
	l.Items = l.canonical.items
	return l
}

// parallel is the size, in bytes, from which a second processor reads half of the entries.
const parallel = 128 << 10

// readItems reads the entries of items, nil if they are not as Render writes them. A text
// of at least parallel bytes is read in two halves at the same time.
func readItems(text string, parallel int) *canonical {
	out, n := &canonical{text: text}, strings.Count(text, string(itemStart))
	half := 0
	if len(text) >= parallel {
		// Each entry ends where the next line begins like this one, so both halves
		// are read as they would be in one piece.
		half = max(strings.Index(text[len(text)/2:], string(itemStart)), 0)
	}
	if half == 0 {
		return out.join(newItemReader(text, n))
	}
	half += len(text) / 2
	first, second := newItemReader(text[:half], n), newItemReader(text[half:], n/2)
	var wg sync.WaitGroup
	wg.Go(second.read)
	first.read()
	wg.Wait()
	return out.join(first, second)
}

// join takes what readers of successive parts have read, nil if one has failed or the
// entries are not in order.
func (c *canonical) join(parts ...*itemReader) *canonical {
	at := 0
	for _, r := range parts {
		r.read()
		if r.failed || len(c.items) > 0 && CompareRefs(c.items[len(c.items)-1].Ref, r.items[0].Ref) >= 0 {
			return nil
		}
		for i := range r.starts {
			r.starts[i] += at
		}
		at += len(r.text)
		if len(c.items) == 0 {
			c.items, c.starts = r.items, r.starts
		} else {
			c.items, c.starts = append(c.items, r.items...), append(c.starts, r.starts...)
		}
	}
	return c
}

// itemReader reads the entries of items in a text.
type itemReader struct {
	text, left string
	items      []Item
	starts     []int // of the entries in the text
	failed     bool  // an entry is not as it is written, or not in order
	links      linkReader
	spare      []Link // memory for lists
}

// newItemReader returns a reader with memory for n entries.
func newItemReader(text string, n int) *itemReader {
	return &itemReader{text: text, left: text, items: make([]Item, 0, n), starts: make([]int, 0, n), links: linkReader{}}
}

// read reads the entries that are not read yet.
func (r *itemReader) read() {
	for r.left != "" && !r.failed {
		r.starts = append(r.starts, len(r.text)-len(r.left))
		it, ok := r.item()
		n := len(r.items)
		r.failed = !ok || n > 0 && CompareRefs(r.items[n-1].Ref, it.Ref) >= 0
		r.items = append(r.items, it)
	}
}

// linkText is a link as it is written.
type linkText struct{ ref, digest string }

// item reads the next entry.
func (r *itemReader) item() (Item, bool) {
	end := len(r.left)
	if n := strings.Index(r.left[1:], "\n- "); n >= 0 {
		end = 1 + n
	}
	var entry string
	entry, r.left = r.left[:end], r.left[end:]
	if it, ok := r.quick(entry); ok {
		return it, true
	}
	return slowItem(entry)
}

// slowItem reads an entry with other fields as the parser does.
func slowItem(entry string) (Item, bool) {
	p := &lockParser{l: &Lock{Minor: LockMinor}}
	head := true // of this part: it is empty
	for r := range scan(entry) {
		if !head {
			p.entry(r)
		}
		head = false
	}
	if p.l.Sort(); len(p.out) > 0 || len(p.l.Items) != 1 || string(p.l.Items[0].record().append(nil)) != entry {
		return Item{}, false
	}
	return p.l.Items[0], true
}

// quick reads an entry with a digest, and perhaps a chain and uses.
func (r *itemReader) quick(entry string) (it Item, ok bool) {
	name, s, ok1 := line(entry, string(itemStart))
	digest, s, ok2 := line(s, "  digest: ")
	ref, err := item.ParseRef(name, "")
	if !ok1 || !ok2 || err != nil || plainPrefix(name) < len(name) || plainPrefix(digest) < len(digest) {
		return it, false
	}
	it.Ref = ref
	if it.Digest, err = item.ParseDigest(digest); err != nil || it.Digest == (item.Digest{}) {
		return it, false
	}
	self := Link{it.Ref, it.Digest}
	if list, after, has := line(s, "  chain: ["); has {
		s = after
		if it.Chain, ok = r.list(list, linkText{name, digest}, self); !ok || it.Chain[0] != self {
			return it, false
		}
	} else if ref.Kind == item.Tool {
		return it, false
	}
	if list, after, has := line(s, "  uses: ["); has {
		s = after
		if it.Uses, ok = r.list(list, linkText{name, digest}, self); !ok || !slices.IsSortedFunc(it.Uses, strictly) {
			return it, false
		}
	}
	return it, s == ""
}

func strictly(a, b Link) int {
	if c := compareLinks(a, b); c != 0 {
		return c
	}
	return -1 // the sort of the lock removes the second one
}

// line returns the rest of the first line after a prefix.
func line(s, prefix string) (value, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, prefix)
	if !ok {
		return "", "", false
	}
	return strings.Cut(s, "\n")
}

// list reads the links of a list without its first bracket. self is the item itself.
func (r *itemReader) list(s string, selfText linkText, self Link) ([]Link, bool) {
	s, ok := strings.CutSuffix(s, "]")
	if !ok {
		return nil, false
	}
	out := r.memory(1 + strings.Count(s, ", "))
	for more := true; more; {
		var element string
		element, s, more = strings.Cut(s, ", ")
		l, _, ok := r.links.read(element, selfText, self)
		if !ok {
			return nil, false
		}
		out = append(out, l)
	}
	return out, true
}

// memory returns memory for n links. Lists have few of them, and a lock thousands of lists.
func (r *itemReader) memory(n int) []Link {
	if len(r.spare) < n {
		r.spare = make([]Link, max(n, min(1024, len(r.left)/64)))
	}
	out := r.spare[:0:n]
	r.spare = r.spare[n:]
	return out
}

// linkReader are links that were read: most chains end in the same elements.
type linkReader map[linkText]Link

// read reads an element of a list, and reports whether it is new. self is the item itself.
func (m linkReader) read(element string, selfText linkText, self Link) (l Link, isNew, ok bool) {
	ref, digest, _ := strings.Cut(element, " ")
	text := linkText{ref, digest}
	if text == selfText {
		return self, false, true
	}
	if l, ok = m[text]; ok {
		return l, false, true
	}
	if l, ok = parseLink(text); ok {
		m[text] = l
	}
	return l, ok, ok
}

// parseLink reads a link of two plain words.
func parseLink(text linkText) (Link, bool) {
	ref, err := item.ParseRef(text.ref, "")
	digest, err2 := item.ParseDigest(text.digest)
	return Link{ref, digest}, err == nil && err2 == nil && plainPrefix(text.ref) == len(text.ref)
}
