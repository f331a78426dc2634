package search

import (
	"math/bits"
	"strings"
)

// gone is the new number of a document that a merge left out.
const gone = ^uint32(0)

// merge writes several segments as one, without the documents that do not
// count. The result has, for each segment, the new numbers of its documents.
// ok is false when a segment is damaged.
func merge(f *fields, segs []*segment, live [][]uint64) (data []byte, numbers [][]uint32, ok bool) {
	b := newBuilder(f)
	for i, s := range segs {
		m := make([]uint32, s.docs)
		for doc := range uint32(s.docs) {
			if m[doc] = gone; live[i][doc>>6]&(1<<(doc&63)) != 0 {
				m[doc] = b.row(s.place(doc), s.kind(doc), func(f int) uint32 { return s.length(doc, f) })
			}
		}
		numbers = append(numbers, m)
	}
	heads := make([]head, len(segs))
	for i, s := range segs {
		heads[i] = head{reader: &reader{cursor: s.cursor(s.terms, 0)}}
		heads[i].advance()
	}
	for term, more := least(heads); more; term, more = least(heads) {
		l := postingList{term: term}
		for i := range heads {
			if h := &heads[i]; h.ok && h.entry.term == term {
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

func (h *head) advance() { h.entry, h.ok = h.next() }

// least returns the first term that any dictionary comes to next.
func least(heads []head) (term string, ok bool) {
	for _, h := range heads {
		if h.ok && (!ok || h.entry.term < term) {
			term, ok = h.entry.term, true
		}
	}
	return strings.Clone(term), ok
}

// copyTo writes the postings of a term under the new numbers.
func (s *segment) copyTo(l *postingList, e entry, numbers []uint32) {
	c := cursor{s: e.postings, seg: s}
	doc := uint64(0)
	for len(c.s) > 0 {
		doc += c.number()
		mask := c.number()
		if doc >= uint64(s.docs) || bits.Len64(mask) > s.fields || mask == 0 {
			c.fail()
			return
		}
		from := c.s
		for range bits.OnesCount64(mask) {
			c.number()
			c.text()
		}
		if n := numbers[doc]; n != gone {
			l.begin(n, mask)
			l.buf = append(l.buf, from[:len(from)-len(c.s)]...)
		}
	}
}
