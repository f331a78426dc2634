package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSuggestions is the largest number of suggested queries.
const maxSuggestions = 3

// maxDistance returns the number of typing errors to tolerate in a word: short
// words have too many similar words.
func maxDistance(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// answer returns the matches of a query under constraints. If it has no
// matches, words that no item has also match similar words. If it still has no
// matches, some of the words are enough.
func answer(lib corpus, q node, constraints []node) ([]match, Relaxed) {
	ask := func(n node) []match { return lib.find(and{append([]node{n}, constraints...)}) }
	if found := ask(q); len(found) > 0 {
		return found, AsWritten
	}
	wide := maxWide
	spelled, changed := withFuzzyWords(lib, q, &wide)
	if changed {
		if found := ask(spelled); len(found) > 0 {
			return found, Fuzzy
		}
	}
	if some, ok := anyOf(spelled); ok {
		if found := ask(some); len(found) > 0 {
			return found, AnyWord
		}
	}
	return nil, AsWritten
}

// withFuzzyWords returns the query with unknown words made fuzzy, at most wide of
// them.
func withFuzzyWords(lib corpus, n node, wide *int) (node, bool) {
	switch n := n.(type) {
	case *word:
		if limit := maxDistance(n.text); limit > 0 && *wide > 0 && len(lib.find(n.kid)) == 0 {
			*wide--
			return fuzzyNode(n.text, n.field, limit), true
		}
	case and:
		kids, changed := withFuzzyWordsAll(lib, n.kids, wide)
		return and{kids}, changed
	case or:
		kids, changed := withFuzzyWordsAll(lib, n.kids, wide)
		return or{kids}, changed
	}
	return n, false // a negation is not widened: it would exclude more items
}

func withFuzzyWordsAll(lib corpus, kids []node, wide *int) (out []node, changed bool) {
	for _, k := range kids {
		k, c := withFuzzyWords(lib, k, wide)
		out = append(out, k)
		changed = changed || c
	}
	return out, changed
}

// anyOf returns the query with at least one of the words in place of all.
func anyOf(n node) (node, bool) {
	all, ok := n.(and)
	if !ok {
		return nil, false
	}
	var words, rest []node
	for _, k := range all.kids {
		if isConstraint(k) {
			rest = append(rest, k)
		} else {
			words = append(words, k)
		}
	}
	if len(words) < 2 {
		return nil, false
	}
	return and{append([]node{or{words}}, rest...)}, true
}

// isConstraint reports whether a part of a query has no words to match, only
// filters and negations. Constraints are kept when a query is widened.
func isConstraint(n node) bool {
	lookForNone := func(kids []node) bool {
		return !slices.ContainsFunc(kids, func(k node) bool { return !isConstraint(k) })
	}
	switch n := n.(type) {
	case not, filter, every:
		return true
	case and:
		return lookForNone(n.kids)
	case or:
		return lookForNone(n.kids)
	}
	return false
}

// suggestions returns the query with each unknown word replaced by the most
// similar words of the items.
func suggestions(lib corpus, text string, q node) []string {
	var unknown []*word
	plainWords(q, func(w *word) {
		if len(unknown) < maxWide && len(lib.find(w.kid)) == 0 {
			unknown = append(unknown, w)
		}
	})
	outs := []string{""}
	from, changed := 0, false
	runes := []rune(text)
	for _, w := range unknown {
		better := closest(lib, w.text)
		if len(better) == 0 {
			continue
		}
		changed = true
		before := string(runes[from:w.at]) + fieldOf(runes[w.at:w.end])
		from = w.end
		if len(unknown) > 1 {
			better = better[:1]
		}
		var next []string
		for _, o := range outs {
			for _, b := range better {
				next = append(next, o+before+b)
			}
		}
		outs = next
	}
	if !changed {
		return nil
	}
	for i := range outs {
		outs[i] += string(runes[from:])
	}
	return outs
}

// fieldOf returns the field of a word with its colon, or "".
func fieldOf(w []rune) string {
	if i := strings.IndexByte(string(w), ':'); i > 0 {
		return string(w)[:i+1]
	}
	return ""
}

// plainWords calls fn for the plain words of a query that are not negated.
func plainWords(n node, fn func(*word)) {
	switch n := n.(type) {
	case *word:
		fn(n)
	case and:
		for _, k := range n.kids {
			plainWords(k, fn)
		}
	case or:
		for _, k := range n.kids {
			plainWords(k, fn)
		}
	}
}

// closest returns the most similar words of the items, best first.
func closest(lib corpus, word string) []string {
	type candidate struct {
		word           string
		distance, docs int
	}
	var all []candidate
	limit := maxDistance(word)
	if limit == 0 {
		return nil
	}
	lib.near(word, limit, func(w string, distance, docs int) { all = append(all, candidate{w, distance, docs}) })
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), -cmp.Compare(a.docs, b.docs), strings.Compare(a.word, b.word))
	})
	var out []string
	for _, c := range all[:min(len(all), maxSuggestions)] {
		out = append(out, c.word)
	}
	return out
}
