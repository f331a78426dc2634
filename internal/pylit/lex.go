package pylit

import (
	"fmt"
	"strings"
)

type kind uint8

const (
	eof kind = iota
	newline
	name
	number
	str
	operator
)

// token is a piece of the source; col0 reports that it is the first of its
// logical line and is at column 0.
type token struct {
	kind     kind
	pos, end int
	col0     bool
}

// lexError is an error at an offset.
type lexError struct {
	off int
	msg string
}

// lexer splits Python into tokens. Of indentation it only records whether there
// is any.
type lexer struct {
	src   string
	i     int
	bol   bool  // at the beginning of a logical line
	stack []int // offsets of open brackets
}

func newLexer(src string) lexer {
	l := lexer{src: src, bol: true}
	if strings.HasPrefix(src, "\ufeff") {
		l.i = len("\ufeff")
	}
	return l
}

func (l *lexer) seek(at int) {
	l.i = at
	l.bol = true
	l.stack = l.stack[:0]
}

func (l *lexer) text(t token) string {
	return l.src[t.pos:t.end]
}

func (l *lexer) fail(off int, format string, args ...any) (token, *lexError) {
	return token{}, &lexError{off, fmt.Sprintf(format, args...)}
}

// next returns the next token; blank and comment lines have none.
func (l *lexer) next() (token, *lexError) {
	col0 := false
	for {
		if l.bol {
			col0 = l.indent()
			l.bol = false
		}
		if err := l.blanks(); err != nil {
			return token{}, err
		}
		if l.i >= len(l.src) {
			return l.end()
		}
		if c := l.src[l.i]; c != '\n' && c != '\r' {
			return l.visible(c, col0)
		}
		p := l.i
		l.i += newlineLen(l.src, l.i)
		if len(l.stack) == 0 {
			l.bol = true
			return token{newline, p, l.i, false}, nil
		}
	}
}

// indent skips white space at the start of a line and reports whether the column
// is 0. A form feed resets the column.
func (l *lexer) indent() bool {
	zero := true
	for ; l.i < len(l.src); l.i++ {
		switch l.src[l.i] {
		case ' ', '\t':
			zero = false
		case '\f':
			zero = true
		default:
			return zero
		}
	}
	return zero
}

// blanks skips white space, comments and joined lines.
func (l *lexer) blanks() *lexError {
	for l.i < len(l.src) {
		switch c := l.src[l.i]; {
		case c == ' ' || c == '\t' || c == '\f':
			l.i++
		case c == '#':
			l.i = lineEnd(l.src, l.i)
		case c == '\\':
			n := newlineLen(l.src, l.i+1)
			if n == 0 {
				return &lexError{l.i, "a backslash does not end its line"}
			}
			l.i += 1 + n
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) end() (token, *lexError) {
	if len(l.stack) > 0 {
		open := l.stack[len(l.stack)-1]
		return l.fail(open, "%q is never closed", l.src[open])
	}
	return token{eof, l.i, l.i, false}, nil
}

func (l *lexer) visible(c byte, col0 bool) (token, *lexError) {
	p := l.i
	switch {
	case isNameStart(c):
		for l.i < len(l.src) && (isNameStart(l.src[l.i]) || isDigit(l.src[l.i])) {
			l.i++
		}
		if l.i < len(l.src) &&
			isQuote(l.src[l.i]) &&
			isPrefix(l.src[p:l.i]) {
			return l.str(p, col0)
		}
		return token{name, p, l.i, col0}, nil
	case isDigit(c) || c == '.' && l.i+1 < len(l.src) && isDigit(l.src[l.i+1]):
		l.number()
		return token{number, p, l.i, col0}, nil
	case isQuote(c):
		return l.str(p, col0)
	case strings.IndexByte("([{", c) >= 0:
		l.stack = append(l.stack, p)
		l.i++
	case strings.IndexByte(")]}", c) >= 0:
		if err := l.closing(c); err != nil {
			return token{}, err
		}
	default:
		n := operatorLen(l.src[p:])
		if n == 0 {
			return l.fail(p, "unexpected character %q", firstRune(l.src[p:]))
		}
		l.i += n
	}
	return token{operator, p, l.i, col0}, nil
}

func (l *lexer) closing(c byte) *lexError {
	n := len(l.stack)
	if n == 0 {
		return &lexError{l.i, fmt.Sprintf("%q closes nothing", c)}
	}
	open := l.src[l.stack[n-1]]
	if strings.IndexByte("([{", open) != strings.IndexByte(")]}", c) {
		return &lexError{l.i, fmt.Sprintf("%q does not close %q", c, open)}
	}
	l.stack = l.stack[:n-1]
	l.i++
	return nil
}

func (l *lexer) number() {
	p := l.i
	hex := l.i+1 < len(l.src) &&
		l.src[l.i] == '0' &&
		l.src[l.i+1]|0x20 == 'x'
	for l.i < len(l.src) {
		c := l.src[l.i]
		sign := (c == '+' || c == '-') &&
			l.i > p &&
			l.src[l.i-1]|0x20 == 'e' &&
			!hex
		if !sign && !isDigit(c) && !isNameStart(c) && c != '.' {
			return
		}
		l.i++
	}
}

func (l *lexer) str(p int, col0 bool) (token, *lexError) {
	end, err := l.skipString(p, 0)
	if err != nil {
		return token{}, err
	}
	l.i = end
	return token{str, p, end, col0}, nil
}

// operatorLen returns the length of the operator that s begins with, or 0.
func operatorLen(s string) int {
	if len(s) > 1 && strings.IndexByte("*/<>=.", s[1]) >= 0 { // most operators have one character
		for _, op := range [...]string{"**=", "//=", ">>=", "<<=", "...", "->", ":=", "==", "!=", "<=", ">=", "+=", "-=", "*=",
			"/=", "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>"} {
			if strings.HasPrefix(s, op) {
				return len(op)
			}
		}
	}
	if strings.IndexByte("+-*/%&|^=<>:@.;,~", s[0]) >= 0 {
		return 1
	}
	return 0
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

// newlineLen returns the length of the line end at i, or 0.
func newlineLen(s string, i int) int {
	switch {
	case strings.HasPrefix(s[i:], "\r\n"):
		return 2
	case i < len(s) && (s[i] == '\n' || s[i] == '\r'):
		return 1
	}
	return 0
}

func lineEnd(s string, i int) int {
	if n := strings.IndexAny(s[i:], "\r\n"); n >= 0 {
		return i + n
	}
	return len(s)
}

func isNameStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}
func isDigit(c byte) bool {
	return c >= '0' && c <= '9'
}
func isQuote(c byte) bool {
	return c == '"' || c == '\''
}

// isPrefix reports whether p is a prefix of a string literal.
func isPrefix(p string) bool {
	if len(p) > 2 {
		return false
	}
	switch strings.ToLower(p) {
	case "r", "b", "u", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return true
	}
	return false
}
