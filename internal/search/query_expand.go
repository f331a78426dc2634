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
// Words of three letters are not corrected: most of them are one letter from another word.
//
// Words of eight letters or more are found at distance 2 with a quarter of the weight, if no
// word is at distance 1.
func maxDistance(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// Weights of a word that was corrected, by the number of typing errors.
const (
	oneError  = 0.5
	twoErrors = 0.25
)

// inflected is the share of the frequency of an inflected form of a word.
// Inflected words have a quarter of the frequency: on the tuning questions they raised the MRR
// from 0.81 to 0.87.
const inflected = 0.25

// Limits of the other spellings of a word.
const (
	minSplit = 3  // letters of a part of a word that is split
	maxSplit = 30 // letters of a word that is split
)

// expander adds other spellings to the plain words of a query.
type expander struct {
	lib     corpus
	wide    int // words that may still be compared with every indexed word
	unknown []unknown
}

// unknown is a word that no item has, with the similar words of the items.
type unknown struct {
	*word
	similar []candidate
}

// expand returns a query with the other spellings of its words. Words that are
// excluded keep their spelling: more of it would exclude more items.
func (x *expander) expand(n node) node {
	switch n := n.(type) {
	case *word:
		return x.word(n)
	case group:
		x.join(n.must)
		x.join(n.may)
		return group{x.each(n.must), x.each(n.may)}
	case or:
		return or{x.each(n.kids)}
	}
	return n
}

func (x *expander) each(kids []node) []node {
	out := make([]node, len(kids))
	for i, k := range kids {
		out[i] = x.expand(k)
	}
	return out
}

// join adds to each two words that follow one another the word that they form
// together: time zone also matches timezone.
func (x *expander) join(kids []node) {
	for i := 1; i < len(kids); i++ {
		a, isWord := kids[i-1].(*word)
		b, both := kids[i].(*word)
		if !isWord ||
			!both ||
			a.field != b.field ||
			len(a.text)+len(b.text) > maxToken ||
			a.forms[0].form != term ||
			b.forms[0].form != term {
			continue
		}
		joined := &leaf{form: term, field: a.field, words: []string{a.forms[0].words[0] + b.forms[0].words[0]}}
		if x.lib.countUpTo(joined, 1) > 0 {
			a.forms = append(a.forms, joined)
			b.forms = append(b.forms, joined)
		}
	}
}

// word returns a word with its other spellings: split in two, its parts, or
// similar words if no item has it.
func (x *expander) word(w *word) node {
	known := false
	for _, form := range w.forms {
		known = known || x.lib.countUpTo(form, 1) > 0
	}
	if first := w.forms[0]; first.form == term {
		split := x.split(w.text, w.field, first)
		if split != nil {
			w.forms = append(w.forms, split)
			known = true
		}
	}
	if x.inflect(w) || known {
		return w
	}
	parts := w.forms[0].words
	similar := x.similar(w)
	if similar != nil || len(parts) == 1 {
		return x.corrections(w, similar)
	}
	var g group
	for _, p := range parts {
		g.may = append(g.may, x.word(&word{
			forms: wordForms(p, w.field),
			scale: w.scale,
			text:  p,
			field: w.field,
			at:    w.at,
			end:   w.end,
		}))
	}
	return g
}

// inflect adds the inflected forms of a word and reports whether there are any.
func (x *expander) inflect(w *word) (found bool) {
	if w.forms[0].form != term || commonWord(w.text) {
		return false
	}
	stem, forms := inflections(w.forms[0].words[0])
	if forms == nil {
		return false
	}
	for _, text := range x.lib.known(stem, forms) {
		l := &leaf{
			form:  term,
			field: w.field,
			words: []string{text},
			share: inflected,
		}
		if w.field < 0 || x.lib.countUpTo(l, 1) > 0 {
			w.forms = append(w.forms, l)
			found = true
		}
	}
	return found
}

// split returns the phrase of two words that form a rare word together, nil if
// there is none: timezone also matches time zone.
func (x *expander) split(text string, field int, whole *leaf) *leaf {
	if len(text) < 2*minSplit || len(text) > maxSplit || !ascii(text) {
		return nil
	}
	rare := x.lib.rare()
	if x.lib.countUpTo(whole, rare) >= rare {
		return nil
	}
	for i := minSplit; i <= len(text)-minSplit; i++ {
		parts := []string{text[:i], text[i:]}
		if !x.has(parts[0]) || !x.has(parts[1]) {
			continue
		}
		l := (&leaf{form: phrase, field: field, words: parts})
		if x.lib.countUpTo(l, 1) > 0 {
			return l
		}
	}
	return nil
}

// has reports whether an item has the word.
func (x *expander) has(word string) bool {
	return x.lib.countUpTo(
		&leaf{form: term, field: -1, words: []string{word}},
		1,
	) > 0
}

// candidate is a word of the items that is similar to an unknown word.
type candidate struct {
	word           string
	distance, docs int
}

// similar returns the words of the items with the fewest typing errors, best
// first.
func (x *expander) similar(w *word) []candidate {
	limit := maxDistance(w.text)
	if limit == 0 || x.wide == 0 {
		return nil
	}
	x.wide--
	var all []candidate
	x.lib.near(w.text, limit, func(text string, distance, docs int) {
		if w.field < 0 ||
			x.lib.countUpTo(&leaf{form: term, field: w.field, words: []string{text}}, 1) > 0 {
			all = append(all, candidate{text, distance, docs})
		}
	})
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.distance, b.distance),
			-cmp.Compare(a.docs, b.docs),
			strings.Compare(a.word, b.word),
		)
	})
	return all
}

// corrections returns an unknown word with the most similar words in its place.
func (x *expander) corrections(w *word, similar []candidate) node {
	x.unknown = append(x.unknown, unknown{w, similar})
	if len(similar) == 0 {
		return w
	}
	c := *w
	c.forms = nil
	if c.scale = oneError; similar[0].distance > 1 {
		c.scale = twoErrors
	}
	for _, s := range similar {
		if s.distance == similar[0].distance {
			c.forms = append(
				c.forms,
				&leaf{form: term, field: w.field, words: []string{s.word}},
			)
		}
	}
	return &c
}

// isConstraint reports whether a part of a query has no words to match, only
// filters and negations. Constraints are kept when a query is widened.
func isConstraint(n node) bool {
	lookForNone := func(kids []node) bool {
		return !slices.ContainsFunc(kids, func(k node) bool {
			return !isConstraint(k)
		})
	}
	switch n := n.(type) {
	case not, filter, every, only:
		return true
	case *leaf:
		return n.form == exists
	case group:
		return lookForNone(n.must) && lookForNone(n.may)
	case or:
		return lookForNone(n.kids)
	}
	return false
}

// suggestions returns the query with each unknown word replaced by the most
// similar words of the items.
func suggestions(text string, words []unknown) []string {
	slices.SortFunc(words, func(a, b unknown) int {
		return cmp.Compare(a.at, b.at)
	})
	words = slices.CompactFunc(words, func(a, b unknown) bool {
		return a.at == b.at
	})
	outs := []string{""}
	from := 0
	changed := false
	runes := []rune(text)
	for _, w := range words {
		better := w.similar[:min(len(w.similar), maxSuggestions)]
		if len(better) == 0 {
			continue
		}
		changed = true
		before := string(runes[from:w.at]) + fieldOf(runes[w.at:w.end])
		from = w.end
		if len(words) > 1 {
			better = better[:1]
		}
		var next []string
		for _, o := range outs {
			for _, b := range better {
				next = append(next, o+before+b.word)
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
