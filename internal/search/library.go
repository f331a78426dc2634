package search

import (
	"container/heap"
	"slices"
	"strings"

	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// match is a document that a query, or a part of it, matches.
type match struct {
	doc   uint32
	score float64
}

// library is all documents of all spaces, however they are kept: an index, or
// what was just read.
type library interface {
	// find returns the documents that match, by number.
	find(n node) []match
	// place tells what a document is.
	place(doc uint32) place
	// copies returns all documents of the same ref in order of precedence, nil
	// when the document is the only one.
	copies(doc uint32) []uint32
	// near calls fn for every word that is at most limit edits away, with the
	// number of documents that have it.
	near(word string, limit int, fn func(word string, distance, docs int))
}

// ranks returns for each root its order of precedence. Bundles of one space
// share theirs: none of them hides what another gives.
func ranks(roots []*space.Root) []int {
	out := make([]int, len(roots))
	for i := 1; i < len(roots); i++ {
		out[i] = out[i-1]
		a, b := roots[i-1], roots[i]
		if !a.Bundled() || !b.Bundled() || a.Space != b.Space {
			out[i]++
		}
	}
	return out
}

// shelf is a library with what is known of its roots.
type shelf struct {
	library
	roots []*space.Root
	rank  []int
}

// hidden reports whether an item is not the one that a run would use.
func (s *shelf) hidden(doc uint32) bool {
	return !s.supplies(s.place(doc)) ||
		slices.ContainsFunc(s.copies(doc), func(c uint32) bool { return c != doc && s.before(c, doc) })
}

func (s *shelf) supplies(p place) bool { return s.roots[p.root].Embedded() || !resolve.Sealed(p.ref) }

// hides returns the labels of the copies that an item hides.
func (s *shelf) hides(doc uint32) (out []string) {
	for _, c := range s.copies(doc) {
		if c != doc && s.before(doc, c) {
			out = append(out, s.roots[s.place(c).root].Label())
		}
	}
	return out
}

// once leaves of each ref the copies that are used, or if none of these
// matches, the ones that come next.
func (s *shelf) once(all []match) []match {
	found := map[uint32]bool{} // of those that have copies
	for _, m := range all {
		if s.copies(m.doc) != nil {
			found[m.doc] = true
		}
	}
	if len(found) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(m match) bool {
		return found[m.doc] && slices.ContainsFunc(s.copies(m.doc), func(c uint32) bool {
			return c != m.doc && found[c] && s.before(c, m.doc)
		})
	})
}

// before reports whether a copy takes precedence over another.
func (s *shelf) before(a, b uint32) bool {
	x, y := s.place(a), s.place(b)
	if s.supplies(x) != s.supplies(y) {
		return s.supplies(x)
	}
	return s.rank[x.root] < s.rank[y.root]
}

// less is the order of hits: score, then space, then id.
func (s *shelf) less(a, b match) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	x, y := s.place(a.doc), s.place(b.doc)
	if x.root != y.root {
		return x.root < y.root
	}
	if c := strings.Compare(x.ref.ID, y.ref.ID); c != 0 {
		return c < 0
	}
	if c := strings.Compare(string(x.ref.Kind), string(y.ref.Kind)); c != 0 {
		return c < 0
	}
	return x.rel < y.rel
}

// best returns the first n in order.
func (s *shelf) best(all []match, n int) []match {
	for i := range all {
		all[i].score = rounded(all[i].score)
	}
	h := &worst{s: s}
	for _, m := range all {
		switch {
		case len(h.list) < n:
			heap.Push(h, m)
		case n > 0 && s.less(m, h.list[0]):
			h.list[0] = m
			heap.Fix(h, 0)
		}
	}
	slices.SortFunc(h.list, func(a, b match) int {
		if s.less(a, b) {
			return -1
		}
		return 1
	})
	return h.list
}

// worst is a heap with the last hit on top.
type worst struct {
	s    *shelf
	list []match
}

// Len, Less, Swap, Push and Pop make a heap of it.
func (w *worst) Len() int           { return len(w.list) }
func (w *worst) Less(i, j int) bool { return w.s.less(w.list[j], w.list[i]) }
func (w *worst) Swap(i, j int)      { w.list[i], w.list[j] = w.list[j], w.list[i] }
func (w *worst) Push(x any)         { w.list = append(w.list, x.(match)) }
func (w *worst) Pop() any {
	last := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	return last
}
