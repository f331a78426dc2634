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
	doc    uint32
	words  uint32 // matching words of the query
	score  float64
	weight float64 // of the matching words, without their frequency in the document
}

// matches are the documents that a query, or a part of it, matches.
type matches struct {
	list   []match
	words  uint32  // words of the query
	weight float64 // of all its words
}

// corpus is the documents of all spaces: an index, or the documents that were
// just read.
type corpus interface {
	// find returns the documents that match, by number.
	find(n node) matches
	// location returns the ref and the file of a document.
	location(doc uint32) location
	// copies returns all documents of the same ref in order of precedence, nil
	// if the document is the only one.
	copies(doc uint32) []uint32
	// near calls fn for every word that is at most limit edits away, with the
	// number of documents that have it.
	near(word string, limit int, fn func(word string, distance, docs int))
	// countUpTo returns the number of documents that match, at most limit.
	countUpTo(l *leaf, limit int) int
	// known returns the words that a document has, of some with one prefix.
	known(prefix string, words []string) []string
	// size returns the number of documents.
	size() int
	// rare returns the number of documents from which on a word is not rare.
	rare() int
	// positions calls fn for each field of the documents, in order, that has the word.
	positions(word string, docs []uint32, fn func(doc uint32, field int, at []uint32))
}

// ranks returns the precedence of each root. Bundles of one space have the same:
// none shadows the items of another.
func ranks(roots []*space.Root) []int {
	out := make([]int, len(roots))
	for i := 1; i < len(roots); i++ {
		out[i] = out[i-1]
		a := roots[i-1]
		b := roots[i]
		if !a.Bundled() || !b.Bundled() || a.Space != b.Space {
			out[i]++
		}
	}
	return out
}

// ranker orders the matches of a corpus.
type ranker struct {
	corpus
	roots []*space.Root
	rank  []int
}

// hidden reports whether a run would use another copy of the item.
func (s *ranker) hidden(doc uint32) bool {
	return !s.supplies(s.location(doc)) ||
		slices.ContainsFunc(s.copies(doc), func(c uint32) bool {
			return c != doc && s.before(c, doc)
		})
}

// supplies reports whether the resolver may use an item: sealed items resolve
// from the system space only.
func (s *ranker) supplies(p location) bool {
	return s.roots[p.root].Embedded() || !resolve.Sealed(p.ref)
}

// hides returns the labels of the copies that an item shadows.
func (s *ranker) hides(doc uint32) (out []string) {
	for _, c := range s.copies(doc) {
		if c != doc && s.before(doc, c) {
			out = append(out, s.roots[s.location(c).root].Label())
		}
	}
	return out
}

// once keeps of each ref the matching copies with the highest precedence.
func (s *ranker) once(all []match) []match {
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

// before reports whether copy a takes precedence over copy b.
func (s *ranker) before(a, b uint32) bool {
	x := s.location(a)
	y := s.location(b)
	if s.supplies(x) != s.supplies(y) {
		return s.supplies(x)
	}
	return s.rank[x.root] < s.rank[y.root]
}

// less is the order of hits: score, then space, then id.
func (s *ranker) less(a, b match) bool {
	if a.score != b.score {
		return a.score > b.score
	}
	x := s.location(a.doc)
	y := s.location(b.doc)
	if x.root != y.root {
		return x.root < y.root
	}
	c := strings.Compare(x.ref.ID, y.ref.ID)
	if c != 0 {
		return c < 0
	}
	c = strings.Compare(string(x.ref.Kind), string(y.ref.Kind))
	if c != 0 {
		return c < 0
	}
	return x.rel < y.rel
}

// best returns the first n matches in order.
func (s *ranker) best(all []match, n int) []match {
	for i := range all {
		all[i].score = rounded(all[i].score)
	}
	h := &hitHeap{s: s}
	for _, m := range all {
		switch {
		case len(h.list) < n:
			heap.Push(h, m)
		case n > 0 && s.less(m, h.list[0]):
			h.list[0] = m
			heap.Fix(h, 0)
		}
	}
	s.sort(h.list)
	return h.list
}

func (s *ranker) sort(list []match) {
	slices.SortFunc(list, func(a, b match) int {
		if s.less(a, b) {
			return -1
		}
		return 1
	})
}

// hitHeap is a heap with the last hit on top.
type hitHeap struct {
	s    *ranker
	list []match
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (w *hitHeap) Len() int {
	return len(w.list)
}
func (w *hitHeap) Less(i, j int) bool {
	return w.s.less(w.list[j], w.list[i])
}
func (w *hitHeap) Swap(i, j int) {
	w.list[i], w.list[j] = w.list[j], w.list[i]
}
func (w *hitHeap) Push(x any) {
	w.list = append(w.list, x.(match))
}
func (w *hitHeap) Pop() any {
	last := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	return last
}
