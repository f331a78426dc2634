package search

import (
	"math/bits"
	"slices"

	"github.com/ryeos/rye/resolve/space"
)

// part is a segment in a view: documents of one root.
type part struct {
	seg  *segment
	root int
	base uint32   // number of its first document in the view
	live []uint64 // bits of the live documents: those that are current
}

func (p *part) alive(doc uint32) bool {
	return p.live[doc>>6]&(1<<(doc&63)) != 0
}

// each calls fn for the live documents.
func (p *part) each(fn func(doc uint32)) {
	for i, w := range p.live {
		for ; w != 0; w &= w - 1 {
			fn(uint32(64*i + bits.TrailingZeros64(w)))
		}
	}
}

func newBits(n int) []uint64 {
	return make([]uint64, (n+63)/64)
}
func setBit(b []uint64, i uint32) {
	b[i>>6] |= 1 << (i & 63)
}
func allBits(n int) []uint64 {
	b := newBits(n)
	for i := range uint32(n) {
		setBit(b, i)
	}
	return b
}

func count(b []uint64) (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// view is the corpus of an index: the segments of all roots at one moment. It is
// immutable.
type view struct {
	fields *fields
	labels [][]string
	parts  []part
	width  uint32 // number of documents, with those that are not live
	stats  statistics
	scorer *scorer
	same   map[uint32][]uint32
}

// newView joins the parts of all roots, in order of precedence. The parts have
// seg, root and live; newView sets base.
func newView(f *fields, roots []*space.Root, parts []part) *view {
	v := &view{fields: f, parts: parts, stats: newStatistics(len(f.names))}
	for _, r := range roots {
		v.labels = append(v.labels, rootNames(r))
	}
	for i := range v.parts {
		p := &v.parts[i]
		p.base = v.width
		v.width += uint32(p.seg.docs)
		v.count(p)
	}
	v.scorer = newScorer(f, &v.stats)
	v.same = v.findCopies()
	return v
}

// count adds the statistics of a part: the whole segment, minus the documents that are not
// live.
func (v *view) count(p *part) {
	t := p.seg.totals()
	v.stats.items += count(p.live)
	for f := range t.lengths {
		v.stats.lengths[f] += t.lengths[f]
		v.stats.filled[f] += t.filled[f]
	}
	for doc := range uint32(p.seg.docs) {
		if p.alive(doc) {
			continue
		}
		for f := range t.lengths {
			if n := p.seg.length(doc, f); n > 0 {
				v.stats.lengths[f] -= averaged(n)
				v.stats.filled[f]--
			}
		}
	}
}

// findCopies finds the refs of more than one document. The hashes of the largest
// part are compared and not stored, which saves most of the memory.
func (v *view) findCopies() map[uint32][]uint32 {
	largest := 0
	for i, p := range v.parts {
		if p.seg.docs > v.parts[largest].seg.docs {
			largest = i
		}
	}
	byHash := map[uint64][]uint32{}
	for i := range v.parts {
		if p := &v.parts[i]; i != largest {
			p.each(func(doc uint32) { h := p.seg.hash(doc); byHash[h] = append(byHash[h], p.base+doc) })
		}
	}
	if len(v.parts) > 0 {
		p := &v.parts[largest]
		seen := map[uint64]uint32{} // two files of one root may have one ref
		p.each(func(doc uint32) {
			h := p.seg.hash(doc)
			if list, ok := byHash[h]; ok {
				byHash[h] = append(list, p.base+doc)
			} else if first, ok := seen[h]; ok {
				byHash[h] = []uint32{first, p.base + doc}
			} else {
				seen[h] = p.base + doc
			}
		})
	}
	return v.group(byHash)
}

// group returns the documents with equal refs among those with equal hashes.
func (v *view) group(byHash map[uint64][]uint32) map[uint32][]uint32 {
	out := map[uint32][]uint32{}
	for _, list := range byHash {
		if len(list) < 2 {
			continue
		}
		for _, doc := range list {
			var same []uint32
			for _, other := range list {
				if v.location(other).ref == v.location(doc).ref {
					same = append(same, other)
				}
			}
			if len(same) > 1 {
				slices.Sort(same) // parts come in order of precedence
				out[doc] = same
			}
		}
	}
	return out
}

// at returns the part of a document.
func (v *view) at(doc uint32) *part {
	i := len(v.parts) - 1
	for v.parts[i].base > doc {
		i--
	}
	return &v.parts[i]
}

// location implements corpus.
func (v *view) location(doc uint32) location {
	p := v.at(doc)
	out := p.seg.location(doc - p.base)
	out.root = p.root
	return out
}

// copies implements corpus.
func (v *view) copies(doc uint32) []uint32 {
	return v.same[doc]
}

// broken reports whether a damaged segment was found.
func (v *view) broken() bool {
	for i := range v.parts {
		if v.parts[i].seg.broken.Load() {
			return true
		}
	}
	return false
}
