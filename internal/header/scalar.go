package header

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/cuttext"
)

// text parses a quoted string.
func (r *reader) text(quote byte) (any, bool) {
	var b strings.Builder
	start := r.i
	for r.i++; r.i < len(r.t.s); {
		c := r.t.s[r.i]
		switch {
		case c == quote:
			r.i++
			if !utf8.ValidString(b.String()) {
				return nil, r.fail(start, "the text is not valid UTF-8")
			}
			return b.String(), true
		case c == '\\':
			if !r.escape(&b) {
				return nil, false
			}
		case c == '\n' && quote != '`':
			return nil, r.fail(start, "the text is not closed on its line")
		case c < ' ' && !r.js:
			return nil, r.fail(r.i, "a control character must be escaped")
		case c == '$' && quote == '`' && strings.HasPrefix(r.t.s[r.i:], "${"):
			return nil, r.fail(r.i, "a template with ${…} is not a literal")
		case c == '\r' && quote == '`' && strings.HasPrefix(r.t.s[r.i:], "\r\n"):
			r.i++
		default:
			b.WriteByte(c)
			r.i++
		}
	}
	return nil, r.fail(start, "the text is never closed")
}

// escape parses an escape sequence.
func (r *reader) escape(b *strings.Builder) bool {
	start := r.i
	r.i += 2
	if r.i > len(r.t.s) {
		return r.fail(start, "the text is never closed")
	}
	c := r.t.s[r.i-1]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		b.WriteByte("\"\\/\b\f\n\r\t"[i])
		return true
	}
	switch {
	case c == 'u':
		return r.unicode(b, start)
	case !r.js:
		return r.fail(start, "JSON has no escape \\%c", c)
	case c == 'x':
		return r.hex(b, start, 2)
	case c == 'v':
		b.WriteByte('\v')
	case isDigit(c):
		if c != '0' || isDigit(r.peek()) {
			return r.fail(start, "octal escapes are not allowed")
		}
		b.WriteByte(0)
	case c == '\n':
	case c == '\r':
		r.accept('\n')
	default:
		b.WriteByte(c)
	}
	return true
}

// unicode parses the part after \u: four digits, a pair of surrogates, or in
// JavaScript {digits}.
func (r *reader) unicode(b *strings.Builder, start int) bool {
	if r.js && r.accept('{') {
		n := strings.IndexByte(
			r.t.s[r.i:min(
				len(r.t.s),
				r.i+9,
			)],
			'}',
		)
		return n > 0 && r.hex(b, start, n) && r.accept('}') ||
			r.fail(start, "the escape is not complete")
	}
	u, ok := r.digits(4)
	if !ok {
		return r.fail(start, "the escape is not complete")
	}
	if utf16.IsSurrogate(u) && strings.HasPrefix(r.t.s[r.i:], `\u`) {
		r.i += 2
		low, _ := r.digits(4)
		u = utf16.DecodeRune(u, low)
		if u == utf8.RuneError {
			return r.fail(start, "half of a surrogate pair is not a character")
		}
	}
	if utf16.IsSurrogate(u) {
		return r.fail(start, "half of a surrogate pair is not a character")
	}
	b.WriteRune(u)
	return true
}

func (r *reader) hex(b *strings.Builder, start, n int) bool {
	u, ok := r.digits(n)
	if !ok || !utf8.ValidRune(u) {
		return r.fail(start, "the escape is not a character")
	}
	b.WriteRune(u)
	return true
}

// digits parses n hexadecimal digits.
func (r *reader) digits(n int) (rune, bool) {
	if r.i+n > len(r.t.s) {
		return 0, false
	}
	u, err := strconv.ParseUint(
		r.t.s[r.i:r.i+n],
		16,
		31,
	)
	if err != nil {
		return 0, false
	}
	r.i += n
	return rune(u), true
}

// word parses a number, true, false or null.
func (r *reader) word() (any, bool) {
	start := r.i
	for r.i < len(r.t.s) && strings.IndexByte(" \t\r\n,:;]}[{\"'`()/", r.t.s[r.i]) < 0 {
		r.i++
	}
	w := r.t.s[start:r.i]
	switch w {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	case "":
		return nil, r.fail(start, "a value is missing")
	}
	if v, ok := number(w, r.js); ok {
		return v, true
	}
	if isDigit(w[0]) || w[0] == '-' {
		return nil, r.fail(start, "%q is not a number of 64 bits", w)
	}
	return nil, r.fail(start, "%q is not a literal", clip(w))
}

func clip(w string) string {
	return cuttext.Short(w, 40)
}

// number parses an integer of 64 bits or a finite float.
func number(w string, js bool) (any, bool) {
	if !js && !isJSONNumber(w) {
		return nil, false
	}
	digits := strings.TrimLeft(w, "+-")
	if js && (len(w)-len(digits) > 1 || digits == "" || strings.Trim(strings.ToLower(digits), "0123456789abcdefox._+-") != "" ||
		len(digits) > 1 && digits[0] == '0' && isDigit(digits[1])) {
		return nil, false
	}
	base := 10
	if len(digits) > 2 && strings.IndexByte("xXoObB", digits[1]) >= 0 {
		base = 0
	}
	if js {
		w = strings.TrimPrefix(w, "+")
		if base == 10 {
			w = strings.ReplaceAll(w, "_", "")
		}
	}
	if n, err := strconv.ParseInt(w, base, 64); err == nil {
		return n, true
	}
	if !strings.ContainsAny(w, ".eE") || base == 0 {
		return nil, false
	}
	f, err := strconv.ParseFloat(w, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// isJSONNumber reports whether w is a number of RFC 8259, which is stricter than
// strconv: no leading zeros, no bare point, no sign but "-".
func isJSONNumber(w string) bool {
	rest := strings.TrimPrefix(w, "-")
	whole := strings.TrimLeft(rest, "0123456789")
	n := len(rest) - len(whole)
	if n == 0 || n > 1 && rest[0] == '0' {
		return false
	}
	if frac, ok := strings.CutPrefix(whole, "."); ok {
		whole = strings.TrimLeft(frac, "0123456789")
		if len(whole) == len(frac) {
			return false
		}
	}
	if whole == "" {
		return true
	}
	if whole[0]|0x20 != 'e' {
		return false
	}
	exp := whole[1:]
	if exp != "" && (exp[0] == '+' || exp[0] == '-') {
		exp = exp[1:]
	}
	return exp != "" && strings.Trim(exp, "0123456789") == ""
}
