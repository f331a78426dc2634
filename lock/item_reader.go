package lock

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
)

const itemStart = "\n- item: "

// itemReader reads an entry of an item that has the text that Render writes, in one pass and
// without the records that the parser needs. Most of a large lock is such entries.
type itemReader struct {
	links map[linkText]Link // read before: most chains end in the same elements
	spare []Link            // memory for lists
}

// linkText is a link as it is written.
type linkText struct{ ref, digest string }

// read reads an entry with a digest, and perhaps a chain and uses. It returns false for any
// other text, which the parser must read.
func (r *itemReader) read(entry string) (it Item, ok bool) {
	name, s, hasName := line(entry, itemStart)
	digest, s, hasDigest := line(s, "  digest: ")
	if !hasName || !hasDigest {
		return it, false
	}
	text := linkText{name, digest}
	self, ok := parseLink(text)
	if !ok || self.Digest == (item.Digest{}) {
		return it, false
	}
	it.Ref = self.Ref
	it.Digest = self.Digest
	if list, after, has := line(s, "  chain: ["); has {
		s = after
		if it.Chain, ok = r.list(list, text, self); !ok || it.Chain[0] != self {
			return it, false
		}
	} else if it.Ref.Kind == item.Tool {
		return it, false
	}
	if list, after, has := line(s, "  uses: ["); has {
		s = after
		if it.Uses, ok = r.list(list, text, self); !ok ||
			!slices.IsSortedFunc(it.Uses, strictly) {
			return it, false
		}
	}
	return it, s == ""
}

// strictly orders links so that a list with a repeated link is not sorted: the sort of the
// lock removes the second one.
func strictly(a, b Link) int {
	if c := compareLinks(a, b); c != 0 {
		return c
	}
	return -1
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
		ref, digest, _ := strings.Cut(element, " ")
		text := linkText{ref, digest}
		if text == selfText {
			out = append(out, self)
			continue
		}
		l, ok := r.links[text]
		if !ok {
			if l, ok = parseLink(text); !ok {
				return nil, false
			}
			r.links[text] = l
		}
		out = append(out, l)
	}
	return out, true
}

// memory returns memory for n links. Lists have few of them, and a lock thousands of lists.
func (r *itemReader) memory(n int) []Link {
	const block = 64
	if len(r.spare) < n {
		r.spare = make([]Link, max(n, block))
	}
	out := r.spare[:0:n]
	r.spare = r.spare[n:]
	return out
}

// parseLink reads a link of two words without quotes.
func parseLink(text linkText) (Link, bool) {
	ref, err := item.ParseRef(text.ref, "")
	if err != nil || plainPrefix(text.ref) < len(text.ref) {
		return Link{}, false
	}
	digest, err := item.ParseDigest(text.digest)
	return Link{ref, digest}, err == nil
}
