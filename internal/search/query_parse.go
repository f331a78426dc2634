package search

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
)

// Limits of a query.
const (
	maxQuery = 2000 // characters
	maxDepth = 50   // nested parentheses and negations
	maxNear  = 100  // words between the words of "…"~N
	maxEdits = 2    // typing errors in a word
	maxWide  = 20   // words that are compared with every indexed word
)

// names are the fields, kinds and spaces that a query may name.
type names struct {
	fields []string
	kinds  []item.Kind
	spaces []string // names of spaces and of bundles
}

// parser parses a query by recursive descent.
type parser struct {
	names
	text  []rune
	at    int
	depth int
	wide  int
}

// parse parses a query.
func parse(text string, n names) (node, error) {
	p := &parser{names: n, text: []rune(text)}
	if len(p.text) > maxQuery {
		return nil, p.fail(maxQuery, "the query is longer than %d characters", maxQuery)
	}
	p.blank()
	if p.end() {
		return every{}, nil
	}
	q, err := p.or()
	if err == nil && !p.end() { // or stops at a parenthesis only
		err = p.fail(p.at, "this parenthesis is not opened")
	}
	if err != nil {
		return nil, err
	}
	return q, nil
}

// fail returns an error about the character at an index, from 0.
func (p *parser) fail(at int, format string, args ...any) *diag.Error {
	return syntaxError("query", string(p.text), at, format, args...)
}

// syntaxError returns an error about one character of the user's text, at an
// index from 0.
func syntaxError(what, text string, at int, format string, args ...any) *diag.Error {
	e := diag.New(
		diag.Usage,
		"reading "+what+", character "+strconv.Itoa(at+1)+": "+format,
		args...,
	)
	return e.
		WithDetail("query", text).
		WithDetail("column", at+1).
		WithReason("query_syntax")
}

func (p *parser) end() bool {
	return p.at >= len(p.text)
}

func (p *parser) blank() {
	for !p.end() && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

// keyword reports whether the next word is an operator.
func (p *parser) keyword(word string) bool {
	rest := p.text[p.at:]
	n := len(word)
	return len(rest) >= n &&
		string(rest[:n]) == word &&
		(len(rest) == n || unicode.IsSpace(rest[n]) || strings.ContainsRune("()\"", rest[n]))
}

func (p *parser) or() (node, error) {
	first, err := p.sequence()
	if err != nil {
		return nil, err
	}
	kids := []node{first}
	for p.keyword("OR") {
		p.at += len("OR")
		p.blank()
		kid, err := p.sequence()
		if err != nil {
			return nil, err
		}
		kids = append(kids, kid)
	}
	if len(kids) == 1 {
		return first, nil
	}
	return or{kids}, nil
}

// sequence parses parts without OR between them. A part next to AND or after + is
// required, and so is a part without words, such as a filter.
func (p *parser) sequence() (node, error) {
	var kids []node
	var required []bool
	joined := false // by AND to the part before
	for {
		plus := p.plus()
		kid, err := p.unary()
		if err != nil {
			return nil, err
		}
		and := p.keyword("AND")
		kids = append(kids, kid)
		required = append(required, plus || and || joined || isConstraint(kid))
		if joined = and; joined {
			p.at += len("AND")
			p.blank()
			continue
		}
		if p.end() ||
			p.text[p.at] == ')' ||
			p.keyword("OR") {
			break
		}
	}
	if len(kids) == 1 {
		return kids[0], nil
	}
	return grouped(kids, required), nil
}

// plus parses the + before a required part.
func (p *parser) plus() bool {
	if p.at+1 >= len(p.text) ||
		p.text[p.at] != '+' ||
		unicode.IsSpace(p.text[p.at+1]) ||
		strings.ContainsRune("+)", p.text[p.at+1]) {
		return false
	}
	p.at++
	return true
}

// grouped returns the group of the parts. A group inside a group of the same
// meaning is dissolved.
func grouped(kids []node, required []bool) group {
	var g group
	for i, kid := range kids {
		inner, nested := kid.(group)
		switch {
		case required[i] && nested && len(inner.may) == 0:
			g.must = append(g.must, inner.must...)
		case required[i]:
			g.must = append(g.must, kid)
		case nested && len(inner.must) == 0:
			g.may = append(g.may, inner.may...)
		default:
			g.may = append(g.may, kid)
		}
	}
	return g
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.at, "more than %d nested parentheses and NOTs", maxDepth)
	}
	defer func() { p.depth-- }()
	if p.keyword("NOT") {
		p.at += len("NOT")
		p.blank()
		kid, err := p.unary()
		if err != nil {
			return nil, err
		}
		return not{kid}, nil
	}
	n, err := p.primary()
	p.blank()
	return n, err
}

// primary reads a word, a field or a group. Operators are in capitals: "search and replace" is
// three words. An unknown field is an error, because a mistyped titel:x must not find nothing. A
// colon at the end of a word is punctuation.
func (p *parser) primary() (node, error) {
	if p.end() {
		return nil, p.fail(p.at, "the query ends where a word is expected")
	}
	switch c := p.text[p.at]; {
	case c == '(':
		return p.group()
	case c == ')':
		return nil, p.fail(p.at, "a word is expected before this parenthesis")
	case c == '"':
		return p.quoted(-1)
	case p.keyword("AND") || p.keyword("OR"):
		return nil, p.fail(p.at, "a word is expected before this operator; AND, OR and NOT in capitals are operators")
	}
	return p.term()
}

func (p *parser) group() (node, error) {
	open := p.at
	p.at++
	p.blank()
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.end() {
		return nil, p.fail(open, "this parenthesis is not closed")
	}
	p.at++
	return n, nil
}

// quoted parses "words" or "words"~N.
func (p *parser) quoted(field int) (node, error) {
	open := p.at
	n := slices.Index(p.text[open+1:], '"')
	if n < 0 {
		return nil, p.fail(open, "this quotation mark is not closed")
	}
	parts := wordsOf(string(p.text[open+1 : open+1+n]))
	if len(parts) == 0 {
		return nil, p.fail(open, "no letter or digit between the quotation marks")
	}
	p.at = open + n + 2
	l := &leaf{form: phrase, field: field, words: parts}
	if !p.end() && p.text[p.at] == '~' {
		tilde := p.at
		digits := p.digits()
		num, err := strconv.Atoi(digits)
		if err != nil || num > maxNear {
			return nil, p.fail(tilde, "\"…\"~ needs a number from 0 to %d: the most other words between these", maxNear)
		}
		l.form = near
		l.n = num
	}
	if len(parts) == 1 {
		l.form = term
		l.n = 0
	}
	return l, nil
}

// digits parses ~ and the digits after it.
func (p *parser) digits() string {
	p.at++
	from := p.at
	for !p.end() && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return string(p.text[from:p.at])
}

// term parses a word, with its field if it has one.
func (p *parser) term() (node, error) {
	from := p.at
	for !p.end() && !unicode.IsSpace(p.text[p.at]) && !strings.ContainsRune("()\"", p.text[p.at]) {
		p.at++
	}
	raw := p.text[from:p.at]
	if colon := slices.Index(raw, ':'); colon > 0 {
		return p.fielded(from, string(raw[:colon]), from+colon+1)
	}
	return p.word(from, p.at, -1)
}

// fielded parses the value of field:…, which begins at value.
func (p *parser) fielded(from int, field string, value int) (node, error) {
	quoted := value == p.at &&
		!p.end() &&
		p.text[p.at] == '"'
	switch {
	case value == p.at && !quoted && !p.resemblesField(field):
		return p.word(from, p.at, -1) // punctuation of a sentence
	case value == p.at && !quoted:
		return nil, p.fail(value, "%s: needs a word or a phrase after the colon, without a blank", field)
	case slices.Contains(filters(), field):
		return p.filter(field, value, quoted)
	case slices.Contains(p.kinds, item.Kind(field)) && !slices.Contains(p.fields, field) && !quoted:
		w, err := p.word(value, p.at, -1)
		if err != nil {
			return nil, err
		}
		return all(filter{"type", field}, w), nil
	}
	n := slices.Index(p.fields, field)
	if n < 0 {
		return nil, p.unknown(from, "field", field, append(filters(), p.fields...))
	}
	read := func() (node, error) {
		return p.word(value, p.at, n)
	}
	if quoted {
		read = func() (node, error) {
			return p.quoted(n)
		}
	}
	kid, err := read()
	if err == nil && field == toolTypeField {
		kid = only{kid}
	}
	return kid, err
}

// resemblesField reports whether a word is the name of a field, a filter or a kind,
// or a misspelled one.
func (p *parser) resemblesField(word string) bool {
	known := slices.Concat(filters(), p.fields, kindNames(p.kinds))
	return slices.Contains(known, word) || suggest.Nearest(word, known) != ""
}

// unknown returns the error for a name that is not known.
func (p *parser) unknown(at int, what, name string, known []string) *diag.Error {
	if nearest := suggest.Nearest(name, known); nearest != "" {
		return p.fail(at, "unknown %s %q", what, name).
			WithReason("nearest").
			WithDetail("nearest", nearest)
	}
	return p.fail(at, "unknown %s %q; known are %s", what, name, strings.Join(known, ", "))
}

// word parses the characters from to end, which contain no blank.
func (p *parser) word(from, end, field int) (node, error) {
	text := string(p.text[from:end])
	if strings.Trim(text, "*") == "" {
		if field < 0 {
			return every{}, nil
		}
		return &leaf{form: exists, field: field}, nil
	}
	if text[0] == '-' && field < 0 {
		return nil, p.fail(from, "a word cannot begin with a hyphen; NOT %s excludes items", strings.TrimLeft(text, "-"))
	}
	text, edits, err := p.edits(from, text)
	if err != nil {
		return nil, err
	}
	pattern := strings.Contains(text, "*")
	switch {
	case len(wordsOf(text)) == 0:
		return nil, p.fail(from, "no letter or digit in %q", text)
	case pattern && edits > 0:
		return nil, p.fail(from, "a word cannot have both * and ~")
	case pattern || edits > 0:
		if p.wide++; p.wide > maxWide {
			return nil, p.fail(from, "more than %d words with * or ~", maxWide)
		}
	}
	switch {
	case pattern:
		return &leaf{form: wildcard, field: field, words: []string{fold(text)}}, nil
	case edits > 0:
		return fuzzyNode(text, field, edits), nil
	}
	return &word{
		forms: wordForms(text, field),
		scale: 1,
		text:  fold(text),
		field: field,
		at:    from,
		end:   end,
	}, nil
}

// edits removes ~N from the end of a word.
func (p *parser) edits(from int, text string) (string, int, error) {
	base, digits, found := strings.Cut(text, "~")
	if !found || base == "" {
		return text, 0, nil
	}
	if digits == "" {
		digits = "1"
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > maxEdits {
		return "", 0, p.fail(from+len([]rune(base)), "~ needs a number from 0 to %d: the most typing errors", maxEdits)
	}
	return base, n, nil
}
