package search

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/space"
)

// memory is what a process knows of the roots that it searched, by their keys.
type memory struct {
	mu    sync.Mutex
	roots map[string]*known
	fixed map[string]*segment

	fields *fields
	view   *view
	of     []any // what the view was made of
}

// known is one root whose files may change.
type known struct {
	mu      sync.Mutex // held while the root is looked at
	holding *holding
	at      time.Time // of the last look
	saved   bool
	note    string
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

// viewOf returns the view of these parts, that of before if nothing in it
// changed.
func (m *memory) viewOf(f *fields, roots []*space.Root, parts []part, of []any) *view {
	m.mu.Lock()
	defer m.mu.Unlock()
	of = append(of, f)
	for _, r := range roots {
		of = append(of, r)
	}
	if m.view == nil || !slices.Equal(m.of, of) {
		m.view, m.of = newView(f, roots, parts), of
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
	var parts []part
	var of []any
	for i, root := range roots {
		if why := ready(root); why != "" {
			notes = append(notes, why)
			continue
		}
		some, what, note, err := x.root(ctx, f, root, i)
		if err != nil {
			return nil, nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		parts, of = append(parts, some...), append(of, what)
	}
	return x.mem.viewOf(f, roots, parts, of), notes, nil
}

// root returns one root as parts of a view, and what they are made of.
func (x *Index) root(ctx context.Context, f *fields, root *space.Root, n int) (parts []part, of any, note string, err error) {
	if d := fixedBy(root); d != (item.Digest{}) {
		seg, note, err := x.fixed(ctx, f, root, d)
		if err != nil {
			return nil, nil, "", err
		}
		parts = []part{{seg: seg, root: n, live: allBits(seg.docs)}}
		offered(parts, root)
		return parts, seg, note, nil
	}
	h, note, err := x.current(ctx, f, root)
	if err != nil {
		return nil, nil, "", err
	}
	return h.parts(root, n), h, note, nil
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
		return h, "", err
	}
	key := x.store.key(f, x.p.Build, "root", root.Path("."))
	k := x.mem.root(key)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := x.p.Now()
	if k.holding != nil && x.p.Fresh > 0 && now.Sub(k.at) < x.p.Fresh && !now.Before(k.at) {
		return k.holding, k.note, nil
	}
	if k.holding == nil {
		k.holding, k.saved = x.store.load(f, key), true
	}
	h, err := k.holding.refreshed(ctx, f, root, now)
	if h == nil {
		return nil, "", err
	}
	k.note = ""
	if err != nil {
		k.note = listing(root, err)
	}
	if h != k.holding {
		k.holding, k.saved = h, false
	}
	if !k.saved {
		k.saved = x.store.save(ctx, key, h, now)
	}
	k.at = now
	return h, k.note, nil
}
