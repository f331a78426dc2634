package search

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// memory is the indexes that a process has loaded, by the keys of their roots.
type memory struct {
	mu    sync.Mutex
	roots map[string]*loadedRoot
	fixed map[string]*segment

	fields *fields
	view   *view
	of     []source      // the sources of the view
	over   []*space.Root // the roots of the view
}

// loadedRoot is one root whose files may change.
type loadedRoot struct {
	mu        sync.Mutex // held while the root is checked
	rootIndex *rootIndex
	at        time.Time // of the last check
	saved     bool
}

func newMemory() *memory {
	return &memory{roots: map[string]*loadedRoot{}, fixed: map[string]*segment{}}
}

// drop removes all indexes from memory.
func (m *memory) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roots = map[string]*loadedRoot{}
	m.fixed = map[string]*segment{}
	m.view = nil
	m.of = nil
}

// fieldsOf returns the fields of the extractors, the previous value if they did
// not change.
func (m *memory) fieldsOf(table *extract.Table) *fields {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fields == nil || !slices.Equal(m.fields.exts, table.All()) {
		if f := newFields(table); !f.equal(m.fields) {
			m.fields = f
		}
	}
	return m.fields
}

// source is the part of a view from one root: one fixed segment, or the current
// index.
type source struct {
	root      int
	fixed     *segment
	rootIndex *rootIndex
}

// parts returns the source as parts of a view, without the documents that a
// bundle does not offer.
func (s source) parts(root *space.Root) []part {
	var out []part
	if s.fixed != nil {
		out = []part{{seg: s.fixed, root: s.root, live: allBits(s.fixed.docs)}}
	} else {
		live := s.rootIndex.live()
		for i, seg := range s.rootIndex.segs {
			out = append(out, part{seg: seg, root: s.root, live: live[i]})
		}
	}
	hideUnoffered(out, root)
	return out
}

// viewOf returns the view of the sources, the previous one if nothing changed.
func (m *memory) viewOf(f *fields, roots []*space.Root, of []source) *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil ||
		m.view.fields != f ||
		!slices.Equal(m.of, of) ||
		!slices.Equal(m.over, roots) {
		var parts []part
		for _, s := range of {
			parts = append(parts, s.parts(roots[s.root])...)
		}
		m.view = newView(f, roots, parts)
		m.of = of
		m.over = roots
	}
	return m.view
}

func (m *memory) root(key string) *loadedRoot {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.roots[key]
	if k == nil {
		k = &loadedRoot{}
		m.roots[key] = k
	}
	return k
}

// corpus returns the current documents of all roots, and notes about roots that
// could not be read completely.
func (x *Index) corpus(
	ctx context.Context,
	f *fields,
	roots []*space.Root,
) (corpus, []string, error) {
	if x.p.Scan {
		return x.scan(ctx, f, roots)
	}
	var notes []string
	var all []source
	for i, root := range roots {
		note := ready(root)
		if note == "" {
			var src source
			var err error
			if src, note, err = x.source(ctx, f, root, i); err != nil {
				return nil, nil, err
			}
			all = append(all, src)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return x.mem.viewOf(f, roots, all), notes, nil
}

// source returns the source of one root, and a note if it could not be read
// completely.
func (x *Index) source(
	ctx context.Context,
	f *fields,
	root *space.Root,
	n int,
) (s source, note string, err error) {
	s.root = n
	if d := fixedDigest(root); d != (item.Digest{}) {
		s.fixed, note, err = x.fixed(ctx, f, root, d)
	} else {
		s.rootIndex, note, err = x.current(ctx, f, root)
	}
	return s, note, err
}

// fixed returns the segment of a root whose files cannot change.
func (x *Index) fixed(
	ctx context.Context,
	f *fields,
	root *space.Root,
	d item.Digest,
) (*segment, string, error) {
	key := x.store.key(f, x.p.Build, "fixed", d.Hex())
	x.mem.mu.Lock()
	seg := x.mem.fixed[key]
	x.mem.mu.Unlock()
	if seg != nil {
		return seg, "", nil
	}
	seg, ok := x.store.loadFixed(f, key)
	if !ok {
		var err error
		var sound bool
		if seg, sound, err = f.readFixed(ctx, root); seg == nil {
			return nil, "", err
		}
		if err != nil {
			return seg, listing(root, err), nil
		}
		if !sound {
			return seg, "", nil // the files do not match the digest, so the segment is not kept under it
		}
		x.store.saveFixed(key, seg)
	}
	x.mem.mu.Lock()
	x.mem.fixed[key] = seg
	x.mem.mu.Unlock()
	return seg, "", nil
}

// listing returns the note about a root with directories that cannot be listed.
func listing(root *space.Root, err error) string {
	return "some directories of " + root.Label() + " cannot be listed: " + err.Error()
}

// current returns the index of the current files of a root.
func (x *Index) current(
	ctx context.Context,
	f *fields,
	root *space.Root,
) (*rootIndex, string, error) {
	if !root.OnDisk() {
		h, err := (&rootIndex{}).refresh(ctx, f, root, x.p.Now())
		return listingNote(ctx, root, h, err)
	}
	key := x.store.key(f, x.p.Build, "root", root.Path("."))
	k := x.mem.root(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := x.p.Now()
	if k.rootIndex != nil &&
		x.p.Fresh > 0 &&
		now.Sub(k.at) < x.p.Fresh &&
		!now.Before(k.at) {
		return k.rootIndex, "", nil
	}
	if k.rootIndex == nil {
		k.rootIndex = x.store.load(f, key)
		k.saved = true
	}
	h, err := k.rootIndex.refresh(ctx, f, root, now)
	if err != nil {
		return listingNote(ctx, root, h, err) // k.at is not set: the next query tries again
	}
	if h != k.rootIndex {
		k.rootIndex = h
		k.saved = false
	}
	if !k.saved {
		k.saved = x.store.save(ctx, key, h, now)
	}
	k.at = now
	return h, "", nil
}

// listingNote makes a note of the error of a root that cannot be listed
// completely: the search continues without the missing files.
func listingNote(
	ctx context.Context,
	root *space.Root,
	h *rootIndex,
	err error,
) (*rootIndex, string, error) {
	if err == nil || ctx.Err() != nil {
		return h, "", ctx.Err()
	}
	return h, listing(root, err), nil
}
