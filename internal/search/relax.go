package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxSuggestions is the number of queries that are offered instead.
const maxSuggestions = 3

// forgiven is the number of typing errors that are forgiven in a word.
func forgiven(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// answer finds what matches a query under demands that come from elsewhere.
// When nothing does, words that no item has are taken for typing errors, and
// if that does not help, the items that have some of the words are found.
func answer(lib library, q node, demands []node) ([]match, Relaxed) {
	ask := func(n node) []match { return lib.find(and{append([]node{n}, demands...)}) }
	if found := ask(q); len(found) > 0 {
		return found, AsWritten
	}
	wide := maxWide
	spelled, changed := respelled(lib, q, &wide)
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

// respelled returns the query with unknown words made fuzzy, as many as wide
// says.
func respelled(lib library, n node, wide *int) (node, bool) {
	switch n := n.(type) {
	case *word:
		if limit := forgiven(n.text); limit > 0 && *wide > 0 && len(lib.find(n.kid)) == 0 {
			*wide--
			return fuzzyNode(n.text, n.field, limit), true
		}
	case and:
		kids, changed := respelledAll(lib, n.kids, wide)
		return and{kids}, changed
	case or:
		kids, changed := respelledAll(lib, n.kids, wide)
		return or{kids}, changed
	}
	return n, false // what is left out is not widened
}

func respelledAll(lib library, kids []node, wide *int) (out []node, changed bool) {
	for _, k := range kids {
		k, c := respelled(lib, k, wide)
		out, changed = append(out, k), changed || c
	}
	return out, changed
}

// anyOf returns a query for some of the words of one that wants all of them.
func anyOf(n node) (node, bool) {
	all, ok := n.(and)
	if !ok {
		return nil, false
	}
	var words, rest []node
	for _, k := range all.kids {
		if demand(k) {
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

// demand reports whether a part of a query looks for no words, but asks what an
// item is or leaves some out: it holds whatever else is widened.
func demand(n node) bool {
	lookForNone := func(kids []node) bool { return !slices.ContainsFunc(kids, func(k node) bool { return !demand(k) }) }
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

// suggestions returns the query with the unknown words spelled as the closest
// ones that items have.
func suggestions(lib library, text string, q node) []string {
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

// fieldOf returns what stands up to the colon of a word.
func fieldOf(w []rune) string {
	if i := strings.IndexByte(string(w), ':'); i > 0 {
		return string(w)[:i+1]
	}
	return ""
}

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

// closest returns the words that were perhaps meant, best first.
func closest(lib library, word string) []string {
	type candidate struct {
		word           string
		distance, docs int
	}
	var all []candidate
	limit := forgiven(word)
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
