package lock

import (
	"bytes"
	"slices"
	"strings"

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
	r := itemReader{left: string(b[at:]), links: map[linkText]Link{}}
	l.Items = make([]Item, 0, bytes.Count(b[at:], itemStart))
	l.canonical = &canonical{text: r.left, starts: make([]int, 0, cap(l.Items))}
	for r.left != "" {
		l.canonical.starts = append(l.canonical.starts, len(l.canonical.text)-len(r.left))
		it, ok := r.item()
		if n := len(l.Items); !ok || n > 0 && CompareRefs(l.Items[n-1].Ref, it.Ref) >= 0 {
			return nil
		}
		l.Items = append(l.Items, it)
	}
	l.canonical.items = slices.Clone(l.Items)
	return l
}

// itemReader reads entries of items one by one.
type itemReader struct {
	left  string
	links map[linkText]Link // that were read: most chains end in the same elements
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
	out := make([]Link, 0, 1+strings.Count(s, ", "))
	for more := true; more; {
		var element string
		element, s, more = strings.Cut(s, ", ")
		ref, digest, two := strings.Cut(element, " ")
		text := linkText{ref, digest}
		l, known := r.links[text]
		switch {
		case text == selfText:
			l = self
		case !known:
			if l, ok = parseLink(text); !two || !ok {
				return nil, false
			}
			r.links[text] = l
		}
		out = append(out, l)
	}
	return out, true
}

// parseLink reads a link of two plain words.
func parseLink(text linkText) (Link, bool) {
	ref, err := item.ParseRef(text.ref, "")
	digest, err2 := item.ParseDigest(text.digest)
	return Link{ref, digest}, err == nil && err2 == nil && plainPrefix(text.ref) == len(text.ref)
}
