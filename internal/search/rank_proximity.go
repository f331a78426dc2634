package search

import (
	"cmp"
	"slices"
)

// Parameters of proximity: what adjacent words add to a score, as a share of it,
// the number of best matches that are compared, the distance up to which words are
// near, and the share of items from which on a word is too common to be compared.
const (
	nearShare = 0.2
	nearFirst = 40
	nearWords = 10
	nearItems = 4 // one in four
	nearFew   = 20
)

// pair is two words that follow one another in a query.
type pair struct {
	a, b   *word
	apart  int // distance in the query
	weight float64
}

// pairs returns the words of a query with their next word, without common words.
func (s *ranker) pairs(n node, items int) (out []pair) {
	var kids [][]node
	switch n := n.(type) {
	case group:
		kids = [][]node{n.must, n.may}
	case or:
		for _, k := range n.kids {
			out = append(out, s.pairs(k, items)...)
		}
		return out
	}
	for _, list := range kids {
		last := -1
		for i, k := range list {
			w, ok := k.(*word)
			if !ok {
				out = append(out, s.pairs(k, items)...)
				continue
			}
			if w.items == 0 ||
				w.forms[0].form != term ||
				w.items > nearFew && w.items*nearItems > items {
				continue
			}
			if last >= 0 {
				a := list[last].(*word)
				out = append(out, pair{a, w, i - last, min(a.weight, w.weight)})
			}
			last = i
		}
	}
	return out
}

// proximity raises the scores of the matches in which words of the query are as
// near to one another as in the query. No score falls.
func (s *ranker) proximity(pairs []pair, top []match) {
	docs := make([]uint32, len(top))
	for i, m := range top {
		docs[i] = m.doc
	}
	slices.Sort(docs)
	found := map[string][]occurrences{}
	total := 0.0
	sums := make([]float64, len(docs))
	best := make([]float64, len(docs))
	for _, p := range pairs {
		total += p.weight
		clear(best)
		nearest(
			s.occurrencesOf(found, p.a, docs),
			s.occurrencesOf(found, p.b, docs),
			p.apart,
			func(doc uint32, closeness float64) {
				i, _ := slices.BinarySearch(docs, doc)
				best[i] = max(best[i], closeness)
			},
		)
		for i, c := range best {
			sums[i] += float64(p.weight * c)
		}
	}
	for i := range top {
		at, _ := slices.BinarySearch(docs, top[i].doc)
		top[i].score *= 1 + float64(nearShare*sums[at]/total)
	}
}

// occurrences are the positions of a word in one field of a document.
type occurrences struct {
	doc   uint32
	field int
	at    []uint32
}

func (s *ranker) occurrencesOf(
	found map[string][]occurrences,
	w *word,
	docs []uint32,
) []occurrences {
	text := w.forms[0].words[0]
	if list, ok := found[text]; ok {
		return list
	}
	list := []occurrences{}
	s.positions(text, docs, func(doc uint32, field int, at []uint32) {
		list = append(list, occurrences{doc, field, slices.Clone(at)})
	})
	found[text] = list
	return list
}

// nearest calls fn for each field in which both words are near: 1 if they are
// as far apart as in the query, less for each word between.
func nearest(a, b []occurrences, apart int, fn func(doc uint32, closeness float64)) {
	for len(a) > 0 && len(b) > 0 {
		switch c := cmp.Or(cmp.Compare(a[0].doc, b[0].doc), cmp.Compare(a[0].field, b[0].field)); {
		case c < 0:
			a = a[1:]
		case c > 0:
			b = b[1:]
		default:
			d := distanceOf(a[0].at, b[0].at, apart)
			if d <= nearWords {
				fn(a[0].doc, 1/float64(d*d))
			}
			a = a[1:]
			b = b[1:]
		}
	}
}

// distanceOf returns the smallest distance of two words, 1 if they follow one
// another as in the query. The other order is one word further apart.
func distanceOf(a, b []uint32, apart int) int {
	least := nearWords + 1
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch d := int(b[j]) - int(a[i]); {
		case d > 0:
			least = min(least, max(d-apart, 0)+1)
			i++
		case d < 0:
			least = min(least, 1-d)
			j++
		default:
			i++
		}
	}
	return least
}
