package search

import (
	"slices"
	"strings"
)

// node is a part of a query. For each document it has a match and a score; the
// score of filters and negations is 0.
type node interface{}

// every matches every document.
type every struct{}

// or and not combine nodes.
type (
	or  struct{ kids []node }
	not struct{ kid node }
)

// group is a sequence of parts. Each part of must has to match. Of the parts of
// may, at least one has to match if no part of must has words.
type group struct{ must, may []node }

// all returns the node of parts that must all match.
func all(kids ...node) group {
	return group{must: kids}
}

// hasWords reports whether a required part has words.
func (g group) hasWords() bool {
	return slices.ContainsFunc(g.must, func(n node) bool {
		return !isConstraint(n)
	})
}

// only is a part that restricts the items and does not change their score.
type only struct{ kid node }

// form is the kind of comparison of a leaf.
type form int

const (
	term     form = iota // one token, exactly
	phrase               // several tokens, one after the other
	near                 // several tokens in any order, with at most n others between
	wildcard             // tokens that match a pattern with *
	fuzzy                // tokens at most n edits away
	exists               // any token: the field is not empty
)

// leaf is a comparison with the text of items.
type leaf struct {
	form  form
	field int // number of the field, -1 any
	words []string
	n     int
	share float64 // of its frequency that a form of a word adds, 0 is all of it
}

// word is a plain word, not quoted and not a pattern. All its forms are counted as
// one word. It keeps its position in the query, so that suggestions can replace it.
type word struct {
	forms   []*leaf
	scale   float64 // weight of a word that was corrected
	text    string  // folded, without its field
	field   int
	at, end int // in characters of the query

	items  int     // that have the word, set when it is found
	weight float64 // set when it is found
}

// filter is a condition on an item that is not about its text.
type filter struct {
	by    string // type, space, ns, signed-by
	value string // for type, one kind or several
}

// wordForms returns the forms of a plain word. A name such as edit_lines matches
// its words one after the other, the token of that spelling, and editlines.
func wordForms(text string, field int) []*leaf {
	parts := spokenParts(text)
	if len(parts) == 1 {
		return []*leaf{{form: term, field: field, words: parts}}
	}
	forms := []*leaf{
		{form: phrase, field: field, words: parts},
		{form: term, field: field, words: []string{clip(fold(text))}},
	}
	if joined := strings.Join(parts, ""); len(joined) <= maxToken {
		forms = append(forms, &leaf{form: term, field: field, words: []string{joined}})
	}
	return forms
}

// spokenParts returns the words of a text, without the ending after an apostrophe:
// the what of what's, the don of don't.
func spokenParts(text string) []string {
	const longest = 2 // letters of an ending
	before, after, found := strings.Cut(strings.ReplaceAll(text, "’", "'"), "'")
	if found && len(after) <= longest {
		if parts := wordsOf(before); len(parts) == 1 {
			return parts
		}
	}
	return wordsOf(text)
}

// fuzzyNode returns the node of a word with at most n typing errors.
func fuzzyNode(text string, field, n int) node {
	parts := wordsOf(text)
	whole := &leaf{
		form:  fuzzy,
		field: field,
		words: []string{clip(fold(text))},
		n:     n,
	}
	if len(parts) == 1 {
		whole.words = parts
		return whole
	}
	var each group
	for _, p := range parts {
		each.must = append(each.must, &leaf{
			form:  fuzzy,
			field: field,
			words: []string{p},
			n:     n,
		})
	}
	return or{[]node{each, whole}}
}
