package search

import (
	"encoding/binary"
	"math/bits"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/ryeos/rye/item"
)

// A segment is an immutable index of some documents:
//
//	magic, checksum of the rest
//	header    counts and the offset of each part
//	totals    per field: all words, documents with any
//	lengths   per document: hash of the ref, kind, offset of its record, words per field
//	records   per document: id, path, signer
//	blocks    offset of each block of the dictionary, and of its postings
//	terms     the dictionary in order: term, documents, size of the postings
//	postings  per term: documents, fields, positions
//
// Numbers are little-endian, or variable-length in lists.
const (
	segmentMagic = "rye-seg1"
	headerSize   = frameSize + 4*8
	blockTerms   = 32
)

// segment is a segment in memory. Its content is not trusted: an offset that is
// out of range marks it as broken and reads as empty.
type segment struct {
	data   string
	docs   int
	fields int
	kinds  []item.Kind
	broken atomic.Bool
	kept   bool // was in the cache at the last check

	lengths, blocks, terms, postings string
}

// openSegment opens a segment. ok is false if it is damaged or was written for
// other fields.
func openSegment(data string, f *fields) (s *segment, ok bool) {
	if _, ok := unseal(data, segmentMagic); !ok || len(data) < headerSize {
		return nil, false
	}
	return layOut(data, f)
}

// layOut sets the parts of a segment.
func layOut(data string, f *fields) (*segment, bool) {
	h := data[frameSize:headerSize]
	var n [8]int
	for i := range n {
		n[i] = int(u32(h[4*i:]))
	}
	s := &segment{
		data:   data,
		docs:   n[0],
		fields: n[1],
		kinds:  f.kinds,
	}
	totals := headerSize
	lengths := n[2]
	blocks := n[3]
	terms := n[4]
	postings := n[5]
	fits := s.fields == len(f.names) && n[6] == len(data) && totals+16*s.fields == lengths &&
		lengths <= blocks && blocks <= terms && terms <= postings && postings <= len(data) &&
		(blocks-lengths)/s.stride() >= s.docs && (terms-blocks)%blockSize == 0
	if !fits {
		return nil, false
	}
	s.lengths = data[lengths:blocks]
	s.blocks = data[blocks:terms]
	s.terms = data[terms:postings]
	s.postings = data[postings:]
	return s, true
}

const blockSize = 8 // offset of a block's terms, offset of their postings

// stride is the size of a row of lengths.
func (s *segment) stride() int {
	return 8 + 4 + 4 + 4*s.fields
}

func u32(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func u64(s string) uint64 {
	return uint64(u32(s)) | uint64(u32(s[4:]))<<32
}

// row returns the fixed numbers of a document: hash, kind, record, lengths.
func (s *segment) row(doc uint32) string {
	n := s.stride()
	return s.lengths[int(doc)*n : int(doc)*n+n]
}

func (s *segment) hash(doc uint32) uint64 {
	return u64(s.row(doc))
}

func (s *segment) kind(doc uint32) int {
	k := int(u32(s.row(doc)[8:]))
	if k >= len(s.kinds) {
		s.broken.Store(true)
		return 0
	}
	return k
}

func (s *segment) length(doc uint32, field int) uint32 {
	return u32(s.row(doc)[16+4*field:])
}

// location returns the location of a document without its root, which the caller
// knows.
func (s *segment) location(doc uint32) (p location) {
	r := s.cursor(s.data, int(u32(s.row(doc)[12:])))
	p.ref.Kind = s.kinds[s.kind(doc)]
	p.ref.ID, p.rel, p.signer = r.text(), r.text(), r.text()
	return p
}

// totals returns the statistics of all documents of the segment.
func (s *segment) totals() statistics {
	st := newStatistics(s.fields)
	st.items = s.docs
	for i := range s.fields {
		st.lengths[i] = u64(s.data[headerSize+16*i:])
		st.filled[i] = u64(s.data[headerSize+16*i+8:])
	}
	return st
}

// cursor reads values one after the other. If seg is set, an invalid value marks
// it as broken.
type cursor struct {
	s    string
	seg  *segment
	over bool
}

func (s *segment) cursor(in string, at int) cursor {
	if at > len(in) {
		s.broken.Store(true)
		return cursor{seg: s}
	}
	return cursor{s: in[at:], seg: s}
}

func (c *cursor) fail() {
	c.s = ""
	c.over = true
	if c.seg != nil {
		c.seg.broken.Store(true)
	}
}

func (c *cursor) number() uint64 {
	var v uint64
	for i := 0; i < len(c.s) && i < binary.MaxVarintLen64; i++ {
		if x := c.s[i]; x < 0x80 {
			c.s = c.s[i+1:]
			return v | uint64(x)<<(7*i)
		} else {
			v |= uint64(x&0x7f) << (7 * i)
		}
	}
	c.fail()
	return 0
}

func (c *cursor) bytes(n uint64) string {
	if n > uint64(len(c.s)) {
		c.fail()
		return ""
	}
	out := c.s[:n]
	c.s = c.s[n:]
	return out
}

func (c *cursor) text() string {
	return c.bytes(c.number())
}

// entry is one term of the dictionary.
type entry struct {
	term     string
	docs     int
	postings string
}

// reader reads the dictionary term by term.
type reader struct {
	cursor
	at uint64 // offset of the next term's postings
}

func (r *reader) next() (e entry, ok bool) {
	if len(r.s) == 0 {
		return e, false
	}
	e.term = r.text()
	e.docs = int(r.number())
	size := r.number()
	all := r.seg.postings
	if r.at > uint64(len(all)) || size > uint64(len(all))-r.at {
		r.fail()
		return e, false
	}
	e.postings = all[r.at : r.at+size]
	r.at += size
	return e, true
}

// block returns a reader that starts at a block of the dictionary.
func (s *segment) block(i int) *reader {
	row := s.blocks[i*blockSize:]
	return &reader{s.cursor(s.terms, int(u32(row))), uint64(u32(row[4:]))}
}

// seek returns a reader that starts at the block of a term.
func (s *segment) seek(term string) *reader {
	n := len(s.blocks) / blockSize
	if n == 0 {
		return &reader{cursor: cursor{seg: s}}
	}
	i := sort.Search(n, func(i int) bool {
		e, _ := s.block(i).next()
		return e.term > term
	})
	return s.block(max(i-1, 0))
}

// find returns a term of the dictionary.
func (s *segment) find(term string) (entry, bool) {
	for r := s.seek(term); ; {
		e, ok := r.next()
		if !ok || e.term > term {
			return entry{}, false
		}
		if e.term == term {
			return e, true
		}
	}
}

// each calls fn for the terms that begin with prefix, in order.
func (s *segment) each(prefix string, fn func(entry)) {
	for r := s.seek(prefix); ; {
		e, ok := r.next()
		switch {
		case !ok:
			return
		case strings.HasPrefix(e.term, prefix):
			fn(e)
		case e.term > prefix:
			return
		}
	}
}

// posting is the occurrences of a term in one field of one document.
type posting struct {
	doc   uint32
	field int
	tf    uint32
	pos   string // tf positions, each as a difference to the one before
}

// postings iterates over the postings of one term, by document and field.
type postings struct {
	cursor
	docs, fields int
	mask         uint64
	posting
}

// read returns the postings of a term.
func (s *segment) read(e entry) *postings {
	return &postings{cursor: cursor{s: e.postings, seg: s}, docs: s.docs, fields: s.fields}
}

// next advances to the next posting and reports whether there is one.
func (p *postings) next() bool {
	if p.mask == 0 {
		if len(p.s) == 0 {
			return false
		}
		doc := uint64(p.doc) + p.number()
		if p.mask = p.number(); doc >= uint64(p.docs) ||
			bits.Len64(p.mask) > p.fields ||
			p.mask == 0 {
			p.fail()
			p.mask = 0
			return false
		}
		p.doc = uint32(doc)
	}
	p.field = bits.TrailingZeros64(p.mask)
	p.mask &= p.mask - 1
	p.tf = uint32(p.number())
	if p.pos = p.text(); uint64(p.tf) > uint64(len(p.pos)) { // a position has at least one byte
		p.fail()
		p.mask = 0
		return false
	}
	return true
}

// frequencies calls fn for each field of each document that has a term. It skips
// the positions, and is faster than postings for a common word.
func (s *segment) frequencies(e entry, fn func(doc uint32, field int, tf uint32)) {
	data := e.postings
	at := 0
	doc := uint64(0)
	for at < len(data) {
		var delta, mask, tf, size uint64
		delta, at = uvarint(data, at)
		mask, at = uvarint(data, at)
		doc += delta
		if at < 0 ||
			doc >= uint64(s.docs) ||
			bits.Len64(mask) > s.fields ||
			mask == 0 {
			s.broken.Store(true)
			return
		}
		for ; mask != 0; mask &= mask - 1 {
			tf, at = uvarint(data, at)
			size, at = uvarint(data, at)
			if at < 0 || size > uint64(len(data)-at) || tf > size { // a position has at least one byte
				s.broken.Store(true)
				return
			}
			at += int(size)
			fn(uint32(doc), bits.TrailingZeros64(mask), uint32(tf))
		}
	}
}

// uvarint reads a number and returns the index after it, -1 if there is none.
func uvarint(s string, at int) (v uint64, next int) {
	if at < 0 {
		return 0, -1
	}
	for shift := 0; at < len(s) && shift < 7*binary.MaxVarintLen64; shift += 7 {
		c := s[at]
		at++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, at
		}
	}
	return 0, -1
}

// positions appends the positions of a posting to out.
func (s *segment) positions(p posting, out []uint32) []uint32 {
	c := cursor{s: p.pos, seg: s}
	at := uint64(0)
	for range p.tf {
		at += c.number()
		out = append(out, uint32(at))
	}
	return out
}
