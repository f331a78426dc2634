package search

import (
	"encoding/binary"

	"github.com/ryeos/rye/item"
)

// stateMagic begins the file that lists the segments of a root's index and the
// document of each file in them.
const stateMagic = "rye-sts1"

// encodeState encodes the index of a root without its segments. names are the
// names of the segments' files.
func encodeState(h *rootIndex, names []string) []byte {
	out := make([]byte, frameSize, 64+128*len(h.records))
	copy(out, stateMagic)
	number := func(v uint64) {
		out = binary.AppendUvarint(out, v)
	}
	number(uint64(len(names)))
	for _, n := range names {
		out = appendText(out, n)
	}
	number(uint64(len(h.records)))
	for i := range h.records {
		r := &h.records[i]
		out = appendText(out, r.rel)
		for _, v := range []uint64{uint64(r.stamp.size), uint64(r.stamp.mtime), uint64(r.stamp.changed), r.stamp.inode, uint64(r.stamp.sig), flag(r.stale), uint64(r.seg), uint64(r.doc)} {
			number(v)
		}
		out = append(out, r.digest[:]...)
	}
	seal(out)
	return out
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// decodeState decodes the result of encodeState. open loads a segment by its name.
// ok is false if something is damaged or missing.
func decodeState(data string, open func(name string) (*segment, bool)) (h *rootIndex, ok bool) {
	content, ok := unseal(data, stateMagic)
	if !ok {
		return nil, false
	}
	c := cursor{s: content}
	h = &rootIndex{}
	for n := c.number(); n > 0 && !c.over; n-- {
		s, ok := open(c.text())
		if !ok || c.over {
			return nil, false
		}
		h.segs = append(h.segs, s)
	}
	n := c.number()
	if n > uint64(len(c.s)) {
		return nil, false
	}
	h.records = make([]record, n)
	for i := range h.records {
		h.records[i].decode(&c)
	}
	return h, !c.over && len(c.s) == 0 && h.sound()
}

func (r *record) decode(c *cursor) {
	r.rel = c.text()
	r.stamp = stamp{
		size:    int64(c.number()),
		mtime:   int64(c.number()),
		changed: int64(c.number()),
		inode:   c.number(),
		sig:     int64(c.number()),
	}
	r.stale = c.number() != 0
	r.seg = int(c.number())
	r.doc = uint32(c.number())
	copy(r.digest[:], c.bytes(uint64(len(item.Digest{}))))
}

// sound reports whether the records are sorted and their documents exist.
func (h *rootIndex) sound() bool {
	for i := range h.records {
		r := &h.records[i]
		if i > 0 && h.records[i-1].rel >= r.rel {
			return false
		}
		if r.doc != none &&
			(r.seg < 0 || r.seg >= len(h.segs) || int(r.doc) >= h.segs[r.seg].docs) {
			return false
		}
	}
	return true
}
