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

// memory is what a process knows of the roots that it searched, by their keys.
type memory struct {
	mu    sync.Mutex
	roots map[string]*known
	fixed map[string]*segment

	fields *fields
	view   *view
	of     []source // what the view was made of
	over   []*space.Root
}

// known is one root whose files may change.
type known struct {
	mu      sync.Mutex // held while the root is looked at
	holding *holding
	at      time.Time // of the last look
	saved   bool
}

func newMemory() *memory { return &memory{roots: map[string]*known{}, fixed: map[string]*segment{}} }

// drop forgets everything.
func (m *memory) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.roots, m.fixed, m.view, m.of = map[string]*known{}, map[string]*segment{}, nil, nil
}

// fieldsOf returns what extractors say, the value of before if they are the
// same.
func (m *memory) fieldsOf(table *extract.Table) *fields {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fields == nil || !slices.Equal(m.fields.exts, table.All()) {
		if f := newFields(table); !f.like(m.fields) {
			m.fields = f
		}
	}
	return m.fields
}

// source is what a view has of one root: one segment for good, or the holding
// of this moment.
type source struct {
	root    int
	fixed   *segment
	holding *holding
}

// parts returns the source as parts of a view. A bundle gives only what its
// space sees of it.
func (s source) parts(root *space.Root) []part {
	var out []part
	if s.fixed != nil {
		out = []part{{seg: s.fixed, root: s.root, live: allBits(s.fixed.docs)}}
	} else {
		live := s.holding.live()
		for i, seg := range s.holding.segs {
			out = append(out, part{seg: seg, root: s.root, live: live[i]})
		}
	}
	offered(out, root)
	return out
}

// viewOf returns the view of these sources, that of before if nothing in it
// changed.
func (m *memory) viewOf(f *fields, roots []*space.Root, of []source) *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.view == nil || m.view.fields != f || !slices.Equal(m.of, of) || !slices.Equal(m.over, roots) {
		var parts []part
		for _, s := range of {
			parts = append(parts, s.parts(roots[s.root])...)
		}
		m.view, m.of, m.over = newView(f, roots, parts), of, roots
	}
	return m.view
}

func (m *memory) root(key string) *known {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.roots[key]
	if k == nil {
		k = &known{}
		m.roots[key] = k
	}
	return k
}

// library returns all roots as they are now.
func (x *Index) library(ctx context.Context, f *fields, roots []*space.Root) (library, []string, error) {
	if x.p.Scan {
		return x.scan(ctx, f, roots)
	}
	var notes []string
	var all []source
	for i, root := range roots {
		why, s := ready(root), source{root: i}
		if why == "" {
			var err error
			if s, why, err = x.source(ctx, f, root, i); err != nil {
				return nil, nil, err
			}
			all = append(all, s)
		}
		if why != "" {
			notes = append(notes, why)
		}
	}
	return x.mem.viewOf(f, roots, all), notes, nil
}

// source returns what there is of one root, and what could not be read of it.
func (x *Index) source(ctx context.Context, f *fields, root *space.Root, n int) (s source, note string, err error) {
	s.root = n
	if d := fixedBy(root); d != (item.Digest{}) {
		s.fixed, note, err = x.fixed(ctx, f, root, d)
	} else {
		s.holding, note, err = x.current(ctx, f, root)
	}
	return s, note, err
}

// fixed returns the segment of a root whose files cannot change.
func (x *Index) fixed(ctx context.Context, f *fields, root *space.Root, d item.Digest) (*segment, string, error) {
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
			return seg, "", nil // not the bundle that the digest is of
		}
		x.store.saveFixed(key, seg)
	}
	x.mem.mu.Lock()
	x.mem.fixed[key] = seg
	x.mem.mu.Unlock()
	return seg, "", nil
}

func listing(root *space.Root, err error) string {
	return "not all of " + root.Label() + " can be listed: " + err.Error()
}

// current returns the holding of a root as its files are now.
func (x *Index) current(ctx context.Context, f *fields, root *space.Root) (*holding, string, error) {
	if !root.OnDisk() {
		h, err := (&holding{}).refreshed(ctx, f, root, x.p.Now())
		return told(ctx, root, h, err)
	}
	key := x.store.key(f, x.p.Build, "root", root.Path("."))
	k := x.mem.root(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := x.p.Now()
	if k.holding != nil && x.p.Fresh > 0 && now.Sub(k.at) < x.p.Fresh && !now.Before(k.at) {
		return k.holding, "", nil
	}
	if k.holding == nil {
		k.holding, k.saved = x.store.load(f, key), true
	}
	h, err := k.holding.refreshed(ctx, f, root, now)
	if err != nil {
		return told(ctx, root, h, err) // and look again next time
	}
	if h != k.holding {
		k.holding, k.saved = h, false
	}
	if !k.saved {
		k.saved = x.store.save(ctx, key, h, now)
	}
	k.at = now
	return h, "", nil
}

// told turns the error of a root that cannot be listed whole into a note: the
// search goes on without what is missing.
func told(ctx context.Context, root *space.Root, h *holding, err error) (*holding, string, error) {
	if err == nil || ctx.Err() != nil {
		return h, "", ctx.Err()
	}
	return h, listing(root, err), nil
}
