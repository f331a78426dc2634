package resolve

import (
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/resolve/space"
)

// embedded are the items of the embedded bundle that were judged less than judgedFor ago.
// Its files cannot change while the program runs, so only the time can change a verdict on
// one. A thread reads some of them fifty times in a second.
type embedded struct {
	mu   sync.Mutex
	hits int64 // items that get returned
	m    map[source]judgedAt
}

// source is a file, and what reads it.
type source struct {
	root *space.Root
	rel  string
	ext  *extract.Extractor
}

type judgedAt struct {
	it *Item
	at time.Time
}

const judgedFor = time.Second

// get returns a copy of an item that was judged just before, or nil.
func (e *embedded) get(
	root *space.Root,
	rel string,
	p extract.Match,
	now time.Time,
) *Item {
	if e == nil || !root.Embedded() {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j, ok := e.m[source{root, rel, p.Extractor}]
	age := now.Sub(j.at)
	if !ok || age < 0 || age >= judgedFor || j.it.Ref != p.Ref {
		return nil
	}
	e.hits++
	it := *j.it
	return &it
}

// put remembers an item that was judged at a time.
func (e *embedded) put(it *Item, at time.Time) {
	if e == nil || !it.Root.Embedded() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := *it
	kept.Findings = slices.Clip(kept.Findings) // a caller may append
	e.m[source{it.Root, it.Rel, it.Extractor}] = judgedAt{&kept, at}
}
