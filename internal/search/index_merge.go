package search

import (
	"math/bits"
	"strings"
)

// dropped is the new number of a document that a merge leaves out.
const dropped = ^uint32(0)

// merge joins several segments to one, without the documents that are not live.
// numbers has the new numbers of the documents of each segment. ok is false if a
// segment is damaged.
func merge(
	f *fields,
	segs []*segment,
	live [][]uint64,
) (data []byte, numbers [][]uint32, ok bool) {
	b := newBuilder(f)
	for i, s := range segs {
		m := make([]uint32, s.docs)
		for doc := range uint32(s.docs) {
			if m[doc] = dropped; live[i][doc>>6]&(1<<(doc&63)) != 0 {
				m[doc] = b.row(
					s.location(doc),
					s.kind(doc),
					func(f int) uint32 { return s.length(doc, f) },
				)
			}
		}
		numbers = append(numbers, m)
	}
	heads := make([]head, len(segs))
	for i, s := range segs {
		heads[i] = head{reader: &reader{cursor: s.cursor(s.terms, 0)}}
		heads[i].advance()
	}
	for term, more := minTerm(heads); more; term, more = minTerm(heads) {
		l := postingList{term: term}
		for i := range heads {
			h := &heads[i]
			if h.ok && h.entry.term == term {
				segs[i].copyTo(&l, h.entry, numbers[i])
				h.advance()
			}
		}
		if l.docs > 0 {
			b.lists = append(b.lists, l)
		}
	}
	for _, s := range segs {
		if s.broken.Load() {
			return nil, nil, false
		}
	}
	return b.bytes(), numbers, true
}

// head is the next term of a dictionary.
type head struct {
	*reader
	entry entry
	ok    bool
}

func (h *head) advance() {
	h.entry, h.ok = h.next()
}

// minTerm returns the smallest next term of the dictionaries.
func minTerm(heads []head) (term string, ok bool) {
	for _, h := range heads {
		if h.ok && (!ok || h.entry.term < term) {
			term = h.entry.term
			ok = true
		}
	}
	return strings.Clone(term), ok
}

// copyTo appends the postings of a term with the new numbers.
func (s *segment) copyTo(l *postingList, e entry, numbers []uint32) {
	c := cursor{s: e.postings, seg: s}
	doc := uint64(0)
	for len(c.s) > 0 {
		doc += c.number()
		mask := c.number()
		if doc >= uint64(s.docs) ||
			bits.Len64(mask) > s.fields ||
			mask == 0 {
			c.fail()
			return
		}
		from := c.s
		for range bits.OnesCount64(mask) {
			c.number()
			c.text()
		}
		if n := numbers[doc]; n != dropped {
			l.begin(n, mask)
			l.buf = append(l.buf, from[:len(from)-len(c.s)]...)
		}
	}
}
