package pylit

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number reads an integer of 64 bits or a finite float.
func (r *reader) number(t token, text string, minus bool) (any, bool) {
	digits, ok := withoutUnderscores(strings.ToLower(text))
	if !ok {
		return nil, r.fail(t, whyExpression)
	}
	if strings.Trim(digits, "0123456789") == "" {
		if digits[0] == '0' && strings.Trim(digits, "0") != "" {
			return nil, r.fail(t, whyExpression)
		}
		return r.integer(t, digits, 10, minus)
	}
	if base := baseOf(digits); base > 0 {
		return r.integer(t, digits[2:], base, minus)
	}
	return r.float(t, digits, minus)
}

// withoutUnderscores removes underscores between digits, or after the prefix of a
// base.
func withoutUnderscores(s string) (string, bool) {
	if strings.IndexByte(s, '_') < 0 {
		return s, true
	}
	base := baseOf(s) > 0
	for i := range len(s) {
		if s[i] != '_' {
			continue
		}
		before := isDigit(s[i-1]) ||
			base && (i == 2 || isHex(s[i-1]))
		after := i+1 < len(s) &&
			(isDigit(s[i+1]) || base && isHex(s[i+1]))
		if !before || !after {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}

func baseOf(s string) int {
	if len(s) < 3 || s[0] != '0' {
		return 0
	}
	return map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]]
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f'
}

func (r *reader) integer(t token, digits string, base int, minus bool) (any, bool) {
	u, err := strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return nil, r.fail(t, whyExpression)
	case err != nil || u > math.MaxInt64 && !(minus && u == 1<<63):
		return nil, r.fail(t, whyNumber)
	case minus:
		return -int64(u), true
	}
	return int64(u), true
}

func (r *reader) float(t token, digits string, minus bool) (any, bool) {
	if strings.Trim(digits, "0123456789.e+-") != "" {
		return nil, r.fail(t, whyExpression)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return nil, r.fail(t, whyExpression)
	}
	if math.IsInf(f, 0) {
		return nil, r.fail(t, whyNumber)
	}
	if minus {
		f = -f
	}
	return f, true
}

// text reads adjacent string literals as one.
func (r *reader) text() (any, bool) {
	var b strings.Builder
	for r.i < len(r.t) && r.t[r.i].kind == str {
		t := r.t[r.i]
		why := unquote(&b, r.s.text(t))
		if why != "" {
			return nil, r.fail(t, why)
		}
		r.i++
	}
	return b.String(), true
}

// unquote appends the text of one string literal, or returns why it has none.
func unquote(b *strings.Builder, literal string) (why string) {
	prefix, d, i := opening(literal, 0)
	switch {
	case strings.Contains(prefix, "b"):
		return whyBytes
	case strings.ContainsAny(prefix, "ft"):
		return whyFString
	}
	end := len(literal) - 1
	if d.triple {
		end -= 2
	}
	s := literal[i:end]
	if !utf8.ValidString(s) {
		return whyText
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	if strings.Contains(prefix, "r") {
		b.WriteString(s)
		return ""
	}
	return unescape(b, s)
}

func unescape(b *strings.Builder, s string) (why string) {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return ""
		}
		b.WriteString(s[:i])
		n, why := escape(b, s[i+1:])
		if why != "" {
			return why
		}
		s = s[i+1+n:]
	}
}

// escape appends the meaning of the escape after a backslash and returns its
// length. An unknown escape stays as it is written.
func escape(b *strings.Builder, s string) (n int, why string) {
	const simple, meaning = `\'"abfnrtv`, "\\'\"\a\b\f\n\r\t\v"
	c := s[0]
	if i := strings.IndexByte(simple, c); i >= 0 {
		b.WriteByte(meaning[i])
		return 1, ""
	}
	switch {
	case c == '\n':
		return 1, ""
	case c >= '0' && c <= '7':
		for n < min(3, len(s)) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		return n, codePoint(b, s[:n], 8)
	case c == 'x' || c == 'u' || c == 'U':
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if len(s) <= width {
			return 0, whyExpression
		}
		return 1 + width, codePoint(b, s[1:1+width], 16)
	case c == 'N':
		return 0, whyEscape
	}
	b.WriteByte('\\')
	return 0, ""
}

func codePoint(b *strings.Builder, digits string, base int) (why string) {
	u, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return whyExpression
	}
	if u > utf8.MaxRune || !utf8.ValidRune(rune(u)) {
		return whyText
	}
	b.WriteRune(rune(u))
	return ""
}
