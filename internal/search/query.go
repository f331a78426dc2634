package search

// node is a part of a query. For each document it has a match and a score; the
// score of filters and negations is 0.
type node interface{}

// every matches every document.
type every struct{}

// and, or and not combine nodes.
type (
	and struct{ kids []node }
	or  struct{ kids []node }
	not struct{ kid node }
)

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
}

// word is a plain word, not quoted and not a pattern. It keeps its position in the
// query, so that suggestions can replace it.
type word struct {
	kid     node
	text    string // folded, without its field
	field   int
	at, end int // in characters of the query
}

// filter is a condition on an item that is not about its text.
type filter struct {
	by    string // type, space, ns, signed-by
	value string // for type, one kind or several
}

// wordNode returns the node of a plain word. A name such as edit_lines matches
// the token of that spelling, or its words one after the other.
func wordNode(text string, field int) node {
	parts := wordsOf(text)
	whole := clip(fold(text))
	if len(parts) == 1 {
		return &leaf{form: term, field: field, words: parts}
	}
	return or{[]node{
		&leaf{form: phrase, field: field, words: parts},
		&leaf{form: term, field: field, words: []string{whole}},
	}}
}

// fuzzyNode returns the node of a word with at most n typing errors.
func fuzzyNode(text string, field, n int) node {
	parts := wordsOf(text)
	whole := &leaf{form: fuzzy, field: field, words: []string{clip(fold(text))}, n: n}
	if len(parts) == 1 {
		whole.words = parts
		return whole
	}
	var all and
	for _, p := range parts {
		all.kids = append(all.kids, &leaf{form: fuzzy, field: field, words: []string{p}, n: n})
	}
	return or{[]node{all, whole}}
}
