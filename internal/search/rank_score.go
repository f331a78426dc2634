package search

import "math"

// The parameters of BM25: k1 limits the effect of frequent words, b is the effect
// of the length of a field.
const (
	k1 = 1.2
	b  = 0.75
)

// statistics are the totals that BM25 needs. They are whole numbers, so they do
// not depend on the order in which items are counted.
type statistics struct {
	items   int
	lengths []uint64 // of all items, by field, in words
	filled  []uint64 // number of items with a word in the field
}

func newStatistics(fields int) statistics {
	return statistics{lengths: make([]uint64, fields), filled: make([]uint64, fields)}
}

// add counts the length of one field of one item.
func (s *statistics) add(field int, length uint32) {
	if length > 0 {
		s.lengths[field] += uint64(length)
		s.filled[field]++
	}
}

// average returns the average length of a field among the items that have it.
func (s *statistics) average(field int) float64 {
	if s.filled[field] == 0 {
		return 1
	}
	return float64(s.lengths[field]) / float64(s.filled[field])
}

// rarity returns the weight of a word that matches so many items.
func (s *statistics) rarity(matches int) float64 {
	n, m := float64(s.items), float64(matches)
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}

// scorer converts counts of words to scores. The float64() around products keeps
// a compiler from fusing them with a sum, so every machine computes the same
// number.
type scorer struct {
	weights [][]float64
	average []float64
}

func newScorer(f *fields, s *statistics) *scorer {
	sc := &scorer{weights: f.weights, average: make([]float64, len(f.names))}
	for i := range sc.average {
		sc.average[i] = s.average(i)
	}
	return sc
}

// part returns the score of tf words in a field of so many words, for an item of
// the kind, before rarity.
func (s *scorer) part(kind, field int, tf float64, length uint32) float64 {
	norm := float64(k1 * ((1 - b) + float64(b*float64(length)/s.average[field])))
	return float64(s.weights[kind][field]*float64(tf*(k1+1))) / (tf + norm)
}

// rounded returns a score as it is compared and shown: smaller differences are a
// tie.
func rounded(score float64) float64 { return math.Round(float64(score*1e4)) / 1e4 }
