package dx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tag parses the start tag at the current offset. It returns the reason if there
// is none.
func (r *reader) tag() (n *node, self bool, why string) {
	const unescaped = `an unescaped "<", write &lt;`
	start := r.i + 1
	size := nameLen(r.src[start:])
	if size == 0 {
		return nil, false, unescaped
	}
	n = &node{tag: r.src[start : start+size], off: r.i}
	var repairs []repair
	for k := start + size; ; {
		rest := r.src[k:]
		trimmed := strings.TrimLeft(rest, " \t\r\n")
		at := k + len(rest) - len(trimmed)
		switch {
		case strings.HasPrefix(trimmed, ">"):
			n.in = at + 1
			r.pending = repairs
			return n, false, ""
		case strings.HasPrefix(trimmed, "/>"):
			n.in = at + 2
			r.pending = repairs
			return n, true, ""
		case at == k || nameLen(trimmed) == 0:
			r.strictTo = max(r.strictTo, at)
			return nil, false, unescaped
		}
		a, next, marks, bad := r.attribute(at)
		if len(n.attrs) == maxAttrs {
			bad = fmt.Sprintf("it has more than %d attributes", maxAttrs)
		}
		if bad != "" {
			r.strictTo = max(r.strictTo, next)
			return nil, false, fmt.Sprintf("<%s is not a tag: %s; kept as text", n.tag, bad)
		}
		if slices.ContainsFunc(n.attrs, func(b attr) bool { return b.name == a.name }) {
			marks = append(marks, repair{at, fmt.Sprintf("the attribute %q is given twice, the first one is used", a.name)})
		} else {
			n.attrs = append(n.attrs, a)
		}
		repairs = append(repairs, marks...)
		k = next
	}
}

// attribute reads NAME="value" at an offset. A "<" in the value is repaired,
// except before strictTo: an earlier attempt has parsed that part without success.
func (r *reader) attribute(at int) (a attr, next int, marks []repair, bad string) {
	s := r.src
	k := at + nameLen(s[at:])
	a.name = s[at:k]
	k = skipBlank(s, k)
	if k >= len(s) || s[k] != '=' {
		return a, k, nil, fmt.Sprintf("%q is an attribute without a value", a.name)
	}
	k = skipBlank(s, k+1)
	if k >= len(s) || s[k] != '"' && s[k] != '\'' {
		return a, k, nil, fmt.Sprintf("the value of %q is not quoted", a.name)
	}
	quote := s[k]
	from := k + 1
	for k = from; k < len(s) && s[k] != quote; k++ {
		if s[k] != '<' {
			continue
		}
		if k < r.strictTo {
			return a, k, nil, fmt.Sprintf("the value of %q contains an unescaped \"<\"", a.name)
		}
		marks = append(marks, repair{k, fmt.Sprintf("an unescaped \"<\" in the attribute %q, write &lt;", a.name)})
	}
	if k == len(s) {
		return a, k, nil, fmt.Sprintf("the value of %q is never closed", a.name)
	}
	a.off = from
	before := len(r.repairs)
	a.value = r.decode(s[from:k], from)
	marks = append(marks, r.repairs[before:]...)
	r.repairs = r.repairs[:before]
	return a, k + 1, marks, ""
}

func skipBlank(s string, k int) int {
	for k < len(s) && strings.IndexByte(" \t\r\n", s[k]) >= 0 {
		k++
	}
	return k
}

// nameLen returns the length of the name that s begins with.
func nameLen(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
		if !letter &&
			(n == 0 || (c < '0' || c > '9') && c != '-' && c != '.' && c != ':') {
			break
		}
		n++
	}
	return n
}

// decode resolves the five entities and numeric references; every other "&"
// stays as it is.
func (r *reader) decode(s string, off int) string {
	if strings.IndexByte(s, '&') < 0 {
		return newlines(s)
	}
	var b strings.Builder
	for {
		n := strings.IndexByte(s, '&')
		if n < 0 {
			b.WriteString(newlines(s))
			return b.String()
		}
		b.WriteString(newlines(s[:n]))
		s = s[n:]
		off = off + n
		text, size := reference(s)
		if size == 0 {
			r.repair(off, `an unescaped "&", write &amp;`)
			text = "&"
			size = 1
		}
		b.WriteString(text)
		s = s[size:]
		off = off + size
	}
}

// reference returns the text of the reference at the start of s, and its size,
// or 0.
func reference(s string) (string, int) {
	n := strings.IndexByte(s[:min(len(s), 32)], ';')
	if n < 0 {
		return "", 0
	}
	switch s[1:n] {
	case "amp":
		return "&", n + 1
	case "lt":
		return "<", n + 1
	case "gt":
		return ">", n + 1
	case "quot":
		return `"`, n + 1
	case "apos":
		return "'", n + 1
	}
	digits, numeric := strings.CutPrefix(s[1:n], "#")
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits = hex
		base = 16
	}
	u, err := strconv.ParseUint(digits, base, 32)
	if !numeric || err != nil || !isCharacter(rune(u)) {
		return "", 0
	}
	return string(rune(u)), n + 1
}

// isCharacter follows the production Char of XML 1.0.
func isCharacter(c rune) bool {
	return c == '\t' ||
		c == '\n' ||
		c == '\r' ||
		c >= 0x20 && c <= 0xD7FF ||
		c >= 0xE000 && c <= 0xFFFD ||
		c >= 0x10000 && c <= 0x10FFFF
}

// newlines writes every line end as "\n", as XML demands.
func newlines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}
