// Package cuttext shortens long texts for readers that take a bounded number of
// characters or bytes: it returns the first and the last lines that fit, and makes a
// text of lines that can be read one by one.
//
// It writes no notes about what is missing: these depend on how the rest is read.
package cuttext

import (
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/jsonx"
)

// Start returns the longest start of a text of whole characters that has at most n bytes.
func Start(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(n, 0)
	// A text that is not UTF-8 can have no beginning of a character, so it is not searched further.
	for lowest := max(n-utf8.UTFMax+1, 0); n > lowest && !utf8.RuneStart(s[n]); {
		n--
	}
	return s[:n]
}

// Short is Start with a sign of what is missing: "…" after the n bytes.
func Short(s string, n int) string {
	if n >= len(s) {
		return s
	}
	return Start(s, n) + "…"
}

// Measure returns the size of a character.
type Measure func(rune) int

// Bytes measures characters in UTF-8.
func Bytes(r rune) int {
	return max(utf8.RuneLen(r), 1)
}

// Quoted measures characters in a text of JSON, as package jsonx writes it, in
// characters.
func Quoted(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < 0x20 || r == 0x2028 || r == 0x2029:
		return 6
	}
	return 1
}

// Of returns the size of a text.
func (m Measure) Of(s string) int {
	n := 0
	for _, r := range s {
		n += m(r)
	}
	return n
}

// First returns the lines at the start of a text whose size is at most budget, and
// their number. If the first line is larger, it is cut, and the number is 0.
func (m Measure) First(s string, budget int) (string, int) {
	end := 0
	lines := 0
	for line := range strings.Lines(s) {
		n := m.Of(line)
		if n > budget {
			break
		}
		budget -= n
		end += len(line)
		lines++
	}
	if lines == 0 {
		return s[:m.fitting(s, budget)], 0
	}
	return s[:end], lines
}

// Last returns the lines at the end of a text whose size is at most budget, "" if not
// even one fits and the text has several.
func (m Measure) Last(s string, budget int) string {
	start := len(s)
	for start > 0 {
		from := strings.LastIndexByte(strings.TrimSuffix(s[:start], "\n"), '\n') + 1
		n := m.Of(s[from:start])
		if n > budget {
			break
		}
		budget -= n
		start = from
	}
	if start == len(s) && !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") {
		return s[len(s)-m.fittingEnd(s, budget):]
	}
	return s[start:]
}

// fitting returns the length in bytes of the longest start of a text that fits.
func (m Measure) fitting(s string, budget int) int {
	for i, r := range s {
		if budget -= m(r); budget < 0 {
			return i
		}
	}
	return len(s)
}

// fittingEnd is fitting for the end of a text.
func (m Measure) fittingEnd(s string, budget int) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeLastRuneInString(s[:len(s)-n])
		if budget -= m(r); budget < 0 {
			break
		}
		n += size
	}
	return n
}

// Wrap divides lines of more than width characters, and reports whether there was one.
func Wrap(text string, width int) (string, bool) {
	var b strings.Builder
	wrapped := false
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		// Not by the number of characters of the rest: a result of megabytes can be one line.
		for end := offset(body, width); end < len(body); end = offset(body, width) {
			wrapped = true
			b.WriteString(body[:end] + "\n")
			body = body[end:]
			line = line[end:]
		}
		b.WriteString(line)
	}
	return b.String(), wrapped
}

// offset returns the offset of the n-th character.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// Indent returns an object or a list of JSON in lines of at most width characters, and
// false for another text.
func Indent(text string, width int) (string, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return "", false
	}
	v, fs := jsonx.ParseMessage([]byte(trimmed))
	if len(fs) > 0 {
		return "", false
	}
	out, err := jsonx.MarshalIndent(v)
	wrapped, _ := Wrap(string(out), width)
	return wrapped, err == nil
}
