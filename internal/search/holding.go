package search

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// record is one file of a root as it was when it was read last.
type record struct {
	rel    string
	stamp  stamp
	again  bool // its stamp may lie, or it could not be read: read it again
	digest item.Digest
	seg    int
	doc    uint32 // in the segment, none for a file that is no item
}

const none = ^uint32(0)

// holding is the index of one root whose files may change: segments, and which
// file stands where in them. It does not change once it is made.
type holding struct {
	records []record // by path
	segs    []*segment
}

// refreshed returns the holding of a root as its files are now. It is h itself
// when nothing changed. Beside an error the holding has what could be listed.
func (h *holding) refreshed(ctx context.Context, f *fields, root *space.Root, now time.Time) (*holding, error) {
	files, walkErr := f.files(ctx, root)
	u := &update{fields: f, old: h, next: &holding{records: make([]record, len(files))}, files: files, large: largeSegment}
	u.before = h.match(files)
	u.look(ctx, root, now)
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

// match returns for each file its record, nil for a new file.
func (h *holding) match(files []file) []*record {
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

// update is the work of making one holding from another.
type update struct {
	fields  *fields
	old     *holding
	next    *holding
	files   []file
	before  []*record // by file
	todo    []int     // files to read
	builder *builder
	fresh   []int // files whose document is in the builder
	changed bool
	large   int // size at which another segment is begun
}

// look compares the stamps and finds the files that must be read.
func (u *update) look(ctx context.Context, root *space.Root, now time.Time) {
	read := make([]bool, len(u.files))
	const chunk = 64
	parallel(ctx, (len(u.files)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(u.files)); i++ {
			read[i] = u.lookAt(root, i, now)
		}
	})
	for i, r := range read {
		if r {
			u.todo = append(u.todo, i)
		}
	}
}

// lookAt sets the record of a file from its stamp and says whether the file
// must be read.
func (u *update) lookAt(root *space.Root, i int, now time.Time) bool {
	r, old := &u.next.records[i], u.before[i]
	s, ok := stampOf(root, u.files[i])
	if old != nil && ok && !old.again && s == old.stamp {
		*r = *old
		return false
	}
	*r = record{rel: u.files[i].rel, stamp: s, again: !ok || s.racy(now), doc: none}
	return true
}

// read reads what may have changed.
func (u *update) read(ctx context.Context, root *space.Root) error {
	some := make([]file, len(u.todo))
	for i, n := range u.todo {
		some[i] = u.files[n]
	}
	same := func(i int, c *content) bool {
		return c.sameAs(u.before[u.todo[i]])
	}
	return u.fields.documents(ctx, root, some, same, func(i int, c *content, d *document) {
		u.take(u.todo[i], c, d, same(i, c))
	})
}

// sameAs reports whether a file is as its record says: the same bytes, or as
// unreadable as before.
func (c *content) sameAs(old *record) bool {
	if old == nil || c.err != nil && (space.IsMissing(c.err) || old.doc == none) {
		return false
	}
	return old.digest == c.digest // zero for what cannot be read
}

func (u *update) take(n int, c *content, d *document, same bool) {
	r, old := &u.next.records[n], u.before[n]
	r.digest = c.digest
	if c.err != nil {
		r.again = true
	}
	switch {
	case same:
		r.seg, r.doc = old.seg, old.doc
		u.changed = u.changed || *r != *old
		return
	case d == nil:
	default:
		if u.builder == nil {
			u.builder = newBuilder(u.fields)
		}
		r.seg, r.doc = len(u.old.segs), u.builder.add(d)
		u.fresh = append(u.fresh, n)
		u.split()
	}
	u.changed = true
}

// largeSegment is the size of postings at which a first reading begins another
// segment: places in one are numbers of 32 bits.
const largeSegment = 512 << 20

// split closes a segment that has become large.
func (u *update) split() {
	if u.builder.size >= u.large {
		u.close()
	}
}

// close turns what is in the builder into a segment.
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
	u.builder, u.fresh = nil, nil
}

// finish puts the segments together and merges the small ones.
func (u *update) finish() {
	u.close()
	u.next.segs = append(slices.Clone(u.old.segs), u.next.segs...)
	u.next.tidy(u.fields)
}

// live returns for each segment the bits of the documents that count.
func (h *holding) live() [][]uint64 {
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

// tidy merges segments so that their number grows with the logarithm of the
// number of items only, and drops what few documents count of.
func (h *holding) tidy(f *fields) {
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
	if from < len(h.segs) && (from < len(h.segs)-1 || counts[from] < h.segs[from].docs) {
		h.merge(f, from, live)
	}
}

// merge makes one segment of all from one on; what is left out is kept as it
// is when a segment turns out to be damaged, which the next query sees.
func (h *holding) merge(f *fields, from int, live [][]uint64) {
	data, numbers, ok := merge(f, h.segs[from:], live[from:])
	if !ok {
		return
	}
	s, ok := openSegment(string(data), f)
	if !ok {
		return
	}
	for i := range h.records {
		if r := &h.records[i]; r.doc != none && r.seg >= from {
			r.seg, r.doc = from, numbers[r.seg-from][r.doc]
		}
	}
	h.segs = append(h.segs[:from:from], s)
	if s.docs == 0 {
		h.segs = h.segs[:from]
	}
}

// offered leaves out what a bundle does not give to its space.
func offered(parts []part, root *space.Root) {
	if !root.Bundled() {
		return
	}
	for i := range parts {
		p := &parts[i]
		p.each(func(doc uint32) {
			if !root.Offers(p.seg.place(doc).ref) {
				p.live[doc>>6] &^= 1 << (doc & 63)
			}
		})
	}
}
