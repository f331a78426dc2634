package search

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// record is the state of one file of a root when it was last read.
type record struct {
	rel    string
	stamp  stamp
	stale  bool // read it again: it may have changed without its stamp, or was not readable
	digest item.Digest
	seg    int
	doc    uint32 // number in the segment, none for a file that is not an item
}

const none = ^uint32(0)

// rootIndex is the index of one root whose files may change: segments, and the
// document of each file in them. It is immutable.
type rootIndex struct {
	records []record // by path
	segs    []*segment
}

// refresh returns the index of the current files. It is h itself if nothing
// changed. Together with an error it returns the index of the files that could be
// listed.
func (h *rootIndex) refresh(
	ctx context.Context,
	f *fields,
	root *space.Root,
	now time.Time,
) (*rootIndex, error) {
	files, walkErr := f.files(ctx, root)
	u := &update{
		fields: f,
		old:    h,
		next:   &rootIndex{records: make([]record, len(files))},
		files:  files,
		large:  largeSegment,
	}
	u.before = h.match(files)
	u.compareStamps(ctx, root, now)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := u.read(ctx, root); err != nil {
		return nil, err
	}
	if !u.changed && len(files) == len(h.records) {
		return h, walkErr
	}
	u.finish()
	return u.next, walkErr
}

// match returns the record of each file, nil for a new file.
func (h *rootIndex) match(files []file) []*record {
	out := make([]*record, len(files))
	i := 0
	for n, f := range files {
		for i < len(h.records) && h.records[i].rel < f.rel {
			i++
		}
		if i < len(h.records) && h.records[i].rel == f.rel {
			out[n] = &h.records[i]
		}
	}
	return out
}

// update derives one index from another.
type update struct {
	fields  *fields
	old     *rootIndex
	next    *rootIndex
	files   []file
	before  []*record // by file
	todo    []int     // files to read
	builder *builder
	fresh   []int // files whose document is in the builder
	changed bool
	large   int // size at which a new segment is started
}

// compareStamps finds the files that must be read.
func (u *update) compareStamps(ctx context.Context, root *space.Root, now time.Time) {
	read := make([]bool, len(u.files))
	const chunk = 64
	parallel(ctx, (len(u.files)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(u.files)); i++ {
			read[i] = u.compareStamp(root, i, now)
		}
	})
	for i, r := range read {
		if r {
			u.todo = append(u.todo, i)
		}
	}
}

// compareStamp sets the record of a file from its stamp and reports whether the
// file must be read.
func (u *update) compareStamp(root *space.Root, i int, now time.Time) bool {
	r := &u.next.records[i]
	old := u.before[i]
	s, ok := stampOf(root, u.files[i])
	if old != nil && ok && !old.stale && s == old.stamp {
		*r = *old
		return false
	}
	*r = record{
		rel:   u.files[i].rel,
		stamp: s,
		stale: !ok || s.racy(now),
		doc:   none,
	}
	return true
}

// read reads the files that may have changed.
func (u *update) read(ctx context.Context, root *space.Root) error {
	changed := make([]file, len(u.todo))
	for i, n := range u.todo {
		changed[i] = u.files[n]
	}
	same := func(i int, c *content) bool {
		return c.sameAs(u.before[u.todo[i]])
	}
	return u.fields.documents(ctx, root, changed, same, func(i int, c *content, d *document) {
		u.take(u.todo[i], c, d, same(i, c))
	})
}

// sameAs reports whether a file matches its record: the same bytes, or still
// unreadable.
func (c *content) sameAs(old *record) bool {
	if old == nil ||
		c.err != nil && (space.IsMissing(c.err) || old.doc == none) {
		return false
	}
	return old.digest == c.digest // the digest of an unreadable file is zero
}

// take sets the record of a file that was read.
func (u *update) take(n int, c *content, d *document, same bool) {
	r := &u.next.records[n]
	old := u.before[n]
	r.digest = c.digest
	if c.err != nil {
		r.stale = true
	}
	switch {
	case same:
		r.seg = old.seg
		r.doc = old.doc
		u.changed = u.changed || *r != *old
		return
	case d == nil:
	default:
		if u.builder == nil {
			u.builder = newBuilder(u.fields)
		}
		r.seg = len(u.old.segs)
		r.doc = u.builder.add(d)
		u.fresh = append(u.fresh, n)
		u.split()
	}
	u.changed = true
}

// largeSegment is the size of postings at which the first reading starts another
// segment: offsets have 32 bits.
const largeSegment = 512 << 20

// split ends a segment that is large.
func (u *update) split() {
	if u.builder.size >= u.large {
		u.close()
	}
}

// close makes a segment of the documents in the builder.
func (u *update) close() {
	if u.builder == nil {
		return
	}
	s, ok := openSegment(string(u.builder.bytes()), u.fields)
	if !ok {
		panic("search: a segment that was just written cannot be read")
	}
	at := len(u.old.segs) + len(u.next.segs)
	for _, n := range u.fresh {
		u.next.records[n].seg = at
	}
	u.next.segs = append(u.next.segs, s)
	u.builder = nil
	u.fresh = nil
}

// finish joins the segments and merges the small ones.
func (u *update) finish() {
	u.close()
	u.next.segs = append(slices.Clone(u.old.segs), u.next.segs...)
	u.next.compact(u.fields)
}

// live returns the bits of the live documents of each segment.
func (h *rootIndex) live() [][]uint64 {
	out := make([][]uint64, len(h.segs))
	for i, s := range h.segs {
		out[i] = newBits(s.docs)
	}
	for i := range h.records {
		if r := &h.records[i]; r.doc != none {
			setBit(out[r.seg], r.doc)
		}
	}
	return out
}

// compact merges segments, so that their number grows with the logarithm of the
// number of items, and rewrites segments with few live documents.
func (h *rootIndex) compact(f *fields) {
	live := h.live()
	counts := make([]int, len(live))
	for i, l := range live {
		counts[i] = count(l)
	}
	from := len(h.segs)
	sum := 0
	for i := len(h.segs) - 1; i >= 0; i-- {
		mostlyGone := counts[i]*2 <= h.segs[i].docs
		if counts[i] <= 2*sum || mostlyGone {
			from = i
		}
		sum += counts[i]
	}
	if from < len(h.segs) &&
		(from < len(h.segs)-1 || counts[from] < h.segs[from].docs) {
		h.merge(f, from, live)
	}
}

// merge joins all segments from index from on. If one is damaged it changes
// nothing; the next query finds the damage.
func (h *rootIndex) merge(f *fields, from int, live [][]uint64) {
	data, numbers, ok := merge(f, h.segs[from:], live[from:])
	if !ok {
		return
	}
	s, ok := openSegment(string(data), f)
	if !ok {
		return
	}
	for i := range h.records {
		r := &h.records[i]
		if r.doc != none && r.seg >= from {
			r.seg, r.doc = from, numbers[r.seg-from][r.doc]
		}
	}
	h.segs = append(h.segs[:from:from], s)
	if s.docs == 0 {
		h.segs = h.segs[:from]
	}
}

// hideUnoffered removes the documents that a bundle does not offer to its space.
func hideUnoffered(parts []part, root *space.Root) {
	if !root.Bundled() {
		return
	}
	for i := range parts {
		p := &parts[i]
		p.each(func(doc uint32) {
			if !root.Offers(p.seg.location(doc).ref) {
				p.live[doc>>6] &^= 1 << (doc & 63)
			}
		})
	}
}
