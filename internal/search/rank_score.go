package search

import "math"

// The parameters of BM25: k1 limits the effect of frequent words, b is the effect
// of the length of a field.
const (
	k1 = 1.2
	b  = 0.75
)

// maxAveraged is the number of words up to which the length of a field counts in the
// average. Without it one item of some thousand words makes every long item rank like a
// short one.
const maxAveraged = 1000

// averaged returns the length of a field as the average counts it.
func averaged(length uint32) uint64 {
	return uint64(min(length, maxAveraged))
}

// statistics are the totals that BM25 needs. They are whole numbers, so they do
// not depend on the order in which items are counted.
type statistics struct {
	items   int
	lengths []uint64 // of all items, by field, in words; see averaged
	filled  []uint64 // number of items with a word in the field
}

func newStatistics(fields int) statistics {
	return statistics{lengths: make([]uint64, fields), filled: make([]uint64, fields)}
}

// add counts the length of one field of one item.
func (s *statistics) add(field int, length uint32) {
	if length > 0 {
		s.lengths[field] += averaged(length)
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
	n := float64(s.items)
	m := float64(matches)
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}

// weight returns the weight of a word that matches so many items. A word that no
// item has does not distinguish them.
func (s *statistics) weight(matches int, scale float64, common bool) float64 {
	const mostCommon = 0.3
	switch w := s.rarity(matches); {
	case matches == 0:
		return 0
	case common:
		return float64(scale * min(w, mostCommon))
	default:
		return float64(scale * w)
	}
}

// countedWords returns the words that a word counts as when a note states that no
// item has all of them.
func countedWords(common bool) uint32 {
	if common {
		return 0
	}
	return 1
}

// rare returns the number of items from which on a word is not rare.
func (s *statistics) rare() int {
	return 3 + s.items/50
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

// part returns the frequency of a word that occurs tf times in a field of so many
// words, for an item of the kind. The frequencies of all fields are added before
// they are saturated (BM25F), so that one word in a short field cannot outweigh
// the others.
func (s *scorer) part(kind, field int, tf float64, length uint32) float64 {
	norm := (1 - b) + float64(b*float64(length)/s.average[field])
	return float64(s.weights[kind][field]*tf) / norm
}

// saturated returns the score of a frequency, before rarity: less than k1+1
// however often the word occurs.
func saturated(frequency float64) float64 {
	return float64(frequency*(k1+1)) / (frequency + k1)
}

// coverage is the share of the score that depends on how many of the words of the
// query an item has.
// It is a tenth of the score. With half, long documents with every common word of a question
// came first.
const coverage = 0.1

// covered returns the score of an item that has some of the query's words: all of
// it if it has all, by their weights.
func covered(score, weight, total float64) float64 {
	if total == 0 {
		return score
	}
	return float64(score * ((1 - coverage) + float64(coverage*weight/total)))
}

// rounded returns a score as it is compared and shown: smaller differences are a
// tie.
func rounded(score float64) float64 {
	return math.Round(float64(score*1e4)) / 1e4
}
