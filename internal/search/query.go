package search

// node is a part of a query. What it gives for a document is whether it
// matches and a score; a filter and a negation score nothing.
type node interface{}

// every matches everything.
type every struct{}

// and, or and not combine.
type (
	and struct{ kids []node }
	or  struct{ kids []node }
	not struct{ kid node }
)

// form is how a leaf compares words.
type form int

const (
	term     form = iota // one token, as it is
	phrase               // several, one after the other
	near                 // several in any order, with at most n others between
	wildcard             // tokens that match a pattern with *
	fuzzy                // tokens at most n edits away
	exists               // any token: the field is not empty
)

// leaf is what is looked up in the text of items.
type leaf struct {
	form  form
	field int // number of the field, -1 any
	words []string
	n     int
}

// word is a plain word, neither quoted nor a pattern: it stands for the nodes
// that it is made of and remembers its place, so that a better spelling can be
// offered.
type word struct {
	kid     node
	text    string // folded, without its field
	field   int
	at, end int // in characters of the query
}

// filter is a demand on what an item is, not on its text.
type filter struct {
	by    string // type, space, ns, signed-by
	value string // for type, one kind or several
}

// wordNode is how a plain word is looked up: a name such as edit_lines is the
// token of that spelling, or its words one after the other.
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

// fuzzyNode is how a word is looked up that may hold n typing errors.
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
