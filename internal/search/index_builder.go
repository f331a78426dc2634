package search

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
)

// builder writes a segment.
type builder struct {
	fields int
	rows   []byte
	recs   []byte // records
	at     []int  // of each document's record, in recs
	totals statistics
	ids    map[string]uint32
	lists  []postingList // by number of the term
	size   int           // approximate size of the result, in bytes

	hits []hitKey // of the document being added
	ent  []occurrence
}

// postingList is the encoded postings of one term.
type postingList struct {
	term string
	docs int
	last uint32
	buf  []byte
}

type hitKey uint64 // number of the term, then the number of the token in the document

// occurrence is the position of a token.
type occurrence struct {
	field int
	pos   uint32
}

func newBuilder(f *fields) *builder {
	return &builder{fields: len(f.names), totals: newStatistics(len(f.names)), ids: map[string]uint32{}}
}

// add adds a document and returns its number.
func (b *builder) add(d *document) uint32 {
	doc := b.row(
		location{ref: d.ref, rel: d.rel, signer: d.signer},
		d.kind,
		func(f int) uint32 {
			return uint32(len(d.fields[f].list))
		},
	)
	b.hits = b.hits[:0]
	b.ent = b.ent[:0]
	for f := range d.fields {
		for _, t := range d.fields[f].list {
			b.hits = append(
				b.hits,
				hitKey(b.number(t.text))<<32|hitKey(len(b.ent)),
			)
			b.ent = append(b.ent, occurrence{f, t.pos})
		}
	}
	b.size += 8 * len(b.hits)
	slices.Sort(b.hits)
	for i := 0; i < len(b.hits); {
		j := i
		for j < len(b.hits) && b.hits[j]>>32 == b.hits[i]>>32 {
			j++
		}
		b.post(
			&b.lists[b.hits[i]>>32],
			doc,
			b.hits[i:j],
		)
		i = j
	}
	return doc
}

// row writes the fixed numbers and the record of a document.
func (b *builder) row(p location, kind int, length func(field int) uint32) uint32 {
	doc := uint32(len(b.at))
	b.at = append(b.at, len(b.recs))
	b.rows = binary.LittleEndian.AppendUint64(b.rows, refHash(p.ref))
	b.rows = binary.LittleEndian.AppendUint32(b.rows, uint32(kind))
	b.rows = binary.LittleEndian.AppendUint32(b.rows, 0) // the record's offset, set by bytes
	for f := range b.fields {
		n := length(f)
		b.rows = binary.LittleEndian.AppendUint32(b.rows, n)
		b.totals.add(f, n)
	}
	for _, s := range []string{p.ref.ID, p.rel, p.signer} {
		b.recs = appendText(b.recs, s)
	}
	return doc
}

func refHash(r item.Ref) uint64 {
	h := fnv.New64a()
	h.Write([]byte(r.String()))
	return h.Sum64()
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// number returns the number of a term.
func (b *builder) number(term string) uint32 {
	n, ok := b.ids[term]
	if !ok {
		n = uint32(len(b.lists))
		term = strings.Clone(term) // the term must not keep the text of the item in memory
		b.ids[term] = n
		b.lists = append(b.lists, postingList{term: term})
	}
	return n
}

// begin appends the head of a document's postings.
func (l *postingList) begin(doc uint32, mask uint64) {
	l.buf = binary.AppendUvarint(l.buf, uint64(doc-l.last))
	l.buf = binary.AppendUvarint(l.buf, mask)
	l.last = doc
	l.docs++
}

// post appends the postings of one term in a document.
func (b *builder) post(l *postingList, doc uint32, hits []hitKey) {
	var mask uint64
	for _, h := range hits {
		mask |= 1 << b.ent[uint32(h)].field
	}
	l.begin(doc, mask)
	for i := 0; i < len(hits); {
		field := b.ent[uint32(hits[i])].field
		var pos []byte
		var last, tf uint32
		for ; i < len(hits) && b.ent[uint32(hits[i])].field == field; i++ {
			p := b.ent[uint32(hits[i])].pos
			pos = binary.AppendUvarint(pos, uint64(p-last))
			last = p
			tf++
		}
		l.field(tf, pos)
	}
}

func (l *postingList) field(tf uint32, pos []byte) {
	l.buf = binary.AppendUvarint(l.buf, uint64(tf))
	l.buf = binary.AppendUvarint(l.buf, uint64(len(pos)))
	l.buf = append(l.buf, pos...)
}

// bytes returns the segment. The builder must not be used afterwards.
func (b *builder) bytes() []byte {
	slices.SortFunc(b.lists, func(x, y postingList) int {
		return strings.Compare(x.term, y.term)
	})
	out := make([]byte, headerSize, headerSize+len(b.rows)+len(b.recs))
	copy(out, segmentMagic)
	for f := range b.fields {
		out = binary.LittleEndian.AppendUint64(out, b.totals.lengths[f])
		out = binary.LittleEndian.AppendUint64(out, b.totals.filled[f])
	}
	lengths := len(out)
	records := lengths + len(b.rows)
	stride := 16 + 4*b.fields
	for i, at := range b.at {
		binary.LittleEndian.PutUint32(b.rows[i*stride+12:], uint32(records+at))
	}
	out = append(append(out, b.rows...), b.recs...)
	dict, blocks := b.dictionary()
	starts := []int{
		len(b.at),
		b.fields,
		lengths,
		len(out),
		len(out) + len(blocks),
		len(out) + len(blocks) + len(dict),
	}
	out = append(append(out, blocks...), dict...)
	for _, l := range b.lists {
		out = append(out, l.buf...)
	}
	head := out[frameSize:]
	for i, n := range append(starts, len(out), 0) {
		binary.LittleEndian.PutUint32(head[4*i:], uint32(n))
	}
	seal(out)
	return out
}

// dictionary returns the terms and their blocks.
func (b *builder) dictionary() (dict, blocks []byte) {
	var postings int
	for i, l := range b.lists {
		if i%blockTerms == 0 {
			blocks = binary.LittleEndian.AppendUint32(blocks, uint32(len(dict)))
			blocks = binary.LittleEndian.AppendUint32(blocks, uint32(postings))
		}
		dict = appendText(dict, l.term)
		dict = binary.AppendUvarint(dict, uint64(l.docs))
		dict = binary.AppendUvarint(dict, uint64(len(l.buf)))
		postings += len(l.buf)
	}
	return dict, blocks
}
