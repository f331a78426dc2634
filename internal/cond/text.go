package cond

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/pathcall"
	"github.com/ryeos/rye/internal/suggest"
)

// TextError is a mistake in a text condition.
type TextError struct {
	Column int    // counted in bytes from 1
	Text   string // lower case, no period
	Near   string // the word that was probably meant, or ""
}

// Error returns the text with the column.
func (e *TextError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("at column %d: %s; did you mean %s?", e.Column, e.Text, e.Near)
	}
	return fmt.Sprintf("at column %d: %s", e.Column, e.Text)
}

// Parse compiles a text condition. The error is a *TextError.
func Parse(s string) (*Cond, error) {
	p := &parser{in: s}
	if len(s) > MaxText {
		return nil, p.fail(0, "the condition has more than %d bytes", MaxText)
	}
	if !utf8.ValidString(s) {
		return nil, p.fail(0, "the condition is not UTF-8")
	}
	c, err := p.cond(1)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(s) {
		return nil, p.unexpected("and, or, or the end")
	}
	switch nodes, depth := c.size(); {
	case nodes > MaxNodes:
		return nil, p.fail(0, "the condition has more than %d parts", MaxNodes)
	case depth > MaxDepth:
		return nil, p.fail(0, "the condition is nested more than %d deep", MaxDepth)
	}
	return c, nil
}

type parser struct {
	in string
	at int
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &TextError{Column: at + 1, Text: fmt.Sprintf(format, args...)}
}

// unexpected reports what is at the position instead of the expected text.
func (p *parser) unexpected(want string) error {
	if p.at == len(p.in) {
		return p.fail(p.at, "expected %s, and the condition ends", want)
	}
	e := &TextError{Column: p.at + 1, Text: fmt.Sprintf("expected %s, found %q", want, p.next())}
	e.Near = suggest.Nearest(p.next(), []string{"and", "or", "not", "in", "contains", "matches", "exists"})
	return e
}

// next returns the word or character at the position.
func (p *parser) next() string {
	path, n := dotpath.Cut(p.in[p.at:])
	if n > 0 {
		return path[0]
	}
	_, n = utf8.DecodeRuneInString(p.in[p.at:])
	return p.in[p.at : p.at+n]
}

func (p *parser) space() {
	for p.at < len(p.in) && strings.IndexByte(" \t\n\r", p.in[p.at]) >= 0 {
		p.at++
	}
}

// symbol consumes a symbol.
func (p *parser) symbol(s string) bool {
	p.space()
	if !strings.HasPrefix(p.in[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// word consumes a keyword. It is not the beginning of a longer name or path.
func (p *parser) word(s string) bool {
	p.space()
	path, n := dotpath.Cut(p.in[p.at:])
	if len(path) != 1 || path[0] != s || n != len(s) {
		return false
	}
	p.at += len(s)
	return true
}

// deepest bounds the recursion: parentheses add no level to the condition.
const deepest = 4 * MaxDepth

func (p *parser) cond(depth int) (*Cond, error) {
	if depth > deepest {
		return nil, p.fail(p.at, "the condition is nested more than %d deep", MaxDepth)
	}
	return p.series(depth, anyOf, p.conjunction, "or", "||")
}

func (p *parser) conjunction(depth int) (*Cond, error) {
	return p.series(depth, allOf, p.unary, "and", "&&")
}

// series parses one part, or several with an operator between them.
func (p *parser) series(
	depth int,
	k kind,
	part func(int) (*Cond, error),
	word, symbol string,
) (*Cond, error) {
	first, err := part(depth)
	if err != nil {
		return nil, err
	}
	parts := []*Cond{first}
	for p.word(word) || p.symbol(symbol) {
		next, err := part(depth)
		if err != nil {
			return nil, err
		}
		parts = append(parts, next)
	}
	if len(parts) == 1 {
		return first, nil
	}
	return &Cond{kind: k, parts: parts}, nil
}

func (p *parser) unary(depth int) (*Cond, error) {
	p.space()
	switch {
	case p.word("not") || !strings.HasPrefix(p.in[p.at:], "!=") && p.symbol("!"):
		if depth > deepest {
			return nil, p.fail(p.at, "the condition is nested more than %d deep", MaxDepth)
		}
		c, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return &Cond{kind: negation, parts: []*Cond{c}}, nil
	case p.symbol("("):
		c, err := p.cond(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.symbol(")") {
			return nil, p.unexpected(")")
		}
		return c, nil
	case p.word("exists"):
		return p.exists()
	}
	return p.comparison()
}

func (p *parser) exists() (*Cond, error) {
	if !p.symbol("(") {
		return nil, p.unexpected("( after exists")
	}
	p.space()
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	if !p.symbol(")") {
		return nil, p.unexpected(")")
	}
	return &Cond{call: path, op: "exists", value: true}, nil
}

// reserved reports whether a word cannot be the first name of a path.
func reserved(s string) bool {
	switch s {
	case "and", "or", "not", "in", "contains", "matches", "exists", "true", "false", "null":
		return true
	}
	return false
}

func (p *parser) path() (pathcall.Call, error) {
	call, n, err := pathcall.Cut(p.in[p.at:])
	switch {
	case err != nil:
		return call, p.fail(p.at, "%v", err)
	case n == 0 || call.Func == "" && len(call.Path) == 1 && reserved(call.Path[0]):
		return call, p.unexpected("a path such as state.count")
	case n > dotpath.MaxLength:
		return call, p.fail(p.at, "the path has more than %d bytes", dotpath.MaxLength)
	}
	p.at += n
	return call, nil
}

func (p *parser) comparison() (*Cond, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	c := &Cond{call: path, op: p.operator()}
	if c.op == "" {
		c.op = "eq"
		c.value = true
		return c, nil
	}
	p.space()
	at := p.at
	if c.value, err = p.value(1); err != nil {
		return nil, err
	}
	if err := c.complete(true); err != nil {
		return nil, p.fail(at, "%v", err)
	}
	return c, nil
}

// operator consumes an operator and returns its name, "" if there is none.
func (p *parser) operator() string {
	for _, o := range [][2]string{{"==", "eq"}, {"!=", "ne"}, {">=", "gte"}, {"<=", "lte"}, {">", "gt"}, {"<", "lt"}} {
		if p.symbol(o[0]) {
			return o[1]
		}
	}
	for _, o := range [][2]string{{"in", "in"}, {"contains", "contains"}, {"matches", "regex"}} {
		if p.word(o[0]) {
			return o[1]
		}
	}
	return ""
}

func (p *parser) value(depth int) (any, error) {
	p.space()
	switch {
	case p.at == len(p.in):
		return nil, p.unexpected("a value")
	case p.word("true"):
		return true, nil
	case p.word("false"):
		return false, nil
	case p.word("null"):
		return nil, nil
	}
	switch c := p.in[p.at]; {
	case c == '\'' || c == '"':
		return p.quoted(c)
	case c == '[':
		return p.list(depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return nil, p.unexpected("a value: a text in quotes, a number, true, false, null or a list")
}

func (p *parser) list(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.fail(p.at, "the list is nested more than %d deep", MaxDepth)
	}
	p.at++
	out := []any{}
	if p.symbol("]") {
		return out, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		switch {
		case p.symbol("]"):
			return out, nil
		case !p.symbol(","):
			return nil, p.unexpected(", or ]")
		}
	}
}

// number parses a number in the spelling of JSON.
func (p *parser) number() (any, error) {
	end := p.at
	for end < len(p.in) && strings.IndexByte("+-.0123456789eE", p.in[end]) >= 0 {
		end++
	}
	s := p.in[p.at:end]
	if !json.Valid([]byte(s)) {
		return nil, p.fail(p.at, "%q is not a number", s)
	}
	v := jsonx.Number(s)
	if v == 0.0 {
		v = int64(0) // -0
	}
	if classOf(v) != number {
		return nil, p.fail(p.at, "the number %.40s is too large or too small", s)
	}
	p.at = end
	return v, nil
}

// quoted parses a text in quotes.
func (p *parser) quoted(quote byte) (any, error) {
	start := p.at
	var out strings.Builder
	for p.at++; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; c {
		case quote:
			p.at++
			return out.String(), nil
		case '\\':
			r, n, err := unescape(p.in[p.at+1:])
			if err != nil {
				return nil, p.fail(p.at, "%v", err)
			}
			out.WriteRune(r)
			p.at += n
		default:
			out.WriteByte(c)
		}
	}
	return nil, p.fail(start, "the text does not end: %c is missing", quote)
}

var errEscape = errors.New(`the escapes are \\ \' \" \n \t \uXXXX`)

// unescape returns the character of an escape without its backslash, and the
// length of the escape.
func unescape(s string) (rune, int, error) {
	if s == "" {
		return 0, 0, errEscape
	}
	switch s[0] {
	case '\\', '\'', '"':
		return rune(s[0]), 1, nil
	case 'n':
		return '\n', 1, nil
	case 't':
		return '\t', 1, nil
	case 'u':
		if len(s) >= 5 {
			n, err := strconv.ParseUint(s[1:5], 16, 16)
			if r := rune(n); err == nil && utf8.ValidRune(r) {
				return r, 5, nil
			}
		}
		return 0, 0, errors.New(`\u is followed by four hexadecimal digits of a character`)
	}
	return 0, 0, errEscape
}
