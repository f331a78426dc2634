// Package glob matches names against patterns: Match for slash-separated names,
// Text for names without separators, Overlaps for two patterns, and Pattern for
// walks over directories.
//
// A pattern is segments joined by "/", for example "acme/**". Within a segment
// "*" is any text, "?" one character, "[a-z]" or "[!a-z]" one character of a
// set. The segment "**" is any number of segments, at the end of a longer
// pattern at least one: "acme/**" is everything below acme, not acme itself.
//
// It never lists a directory. Capabilities divide names at dots and have their
// own rule for the last "*", see package policy.
package glob

import (
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// MaxPattern is the length of the longest pattern, in bytes.
const MaxPattern = 1024

// IsPattern reports whether s contains a special character of patterns.
func IsPattern(s string) bool {
	return strings.ContainsAny(s, "*?[")
}

// Match reports whether the pattern matches the whole name. A pattern that Check
// refuses matches nothing. The work is bounded by the product of both lengths.
func Match(pattern, name string) bool {
	if name == "" || len(Check(pattern)) > 0 {
		return false
	}
	pat := strings.Split(pattern, "/")
	segs := strings.Split(name, "/")
	p := 0
	n := 0
	star := -1
	from := 0
	for n < len(segs) {
		switch {
		case p < len(pat) && pat[p] == "**":
			if p == len(pat)-1 {
				return true
			}
			star = p
			from = n
			p++
		case p < len(pat) && Text(pat[p], segs[n]):
			p++
			n++
		case star >= 0:
			// Only the last "**" needs another try: it can match every segment
			// that an earlier one could.
			from++
			p = star + 1
			n = from
		default:
			return false
		}
	}
	return p == len(pat)
}

// Text reports whether the pattern of one segment matches the whole of s, in
// which "/" is a character like any other. An unclosed set matches nothing.
func Text(pattern, s string) bool {
	p := 0
	n := 0
	star := -1
	from := 0
	for n < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star = p
			from = n
			p++
			continue
		}
		element, char := matchOne(pattern[p:], s[n:])
		if char > 0 {
			p += element
			n += char
			continue
		}
		if star < 0 {
			return false
		}
		_, char = utf8.DecodeRuneInString(s[from:])
		from += char
		p = star + 1
		n = from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchOne matches the first character of s against the first element of
// pattern. It returns the bytes of both, or 0 if they do not match.
func matchOne(pattern, s string) (element, char int) {
	if pattern == "" {
		return 0, 0
	}
	r, char := utf8.DecodeRuneInString(s)
	switch pattern[0] {
	case '?':
		return 1, char
	case '[':
		set, element := cutSet(pattern)
		negated := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
		if negated {
			set = set[1:]
		}
		if element == 0 || inSet(set, r) == negated {
			return 0, 0
		}
		return element, char
	}
	_, element = utf8.DecodeRuneInString(pattern)
	// Bytes are compared, not runes: all invalid bytes decode to the same rune. Such a byte
	// can be the first one of a character.
	if element != char || !strings.HasPrefix(s, pattern[:element]) {
		return 0, 0
	}
	return element, char
}

// cutSet returns the text between the brackets at the start of pattern, and the
// length of the set with its brackets; 0 if it is not closed. A "]" right after
// the opening is in the set.
func cutSet(pattern string) (string, int) {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	if i >= len(pattern) {
		return "", 0
	}
	j := strings.IndexByte(pattern[i+1:], ']')
	if j < 0 {
		return "", 0
	}
	end := i + 1 + j
	return pattern[1:end], end + 1
}

func inSet(set string, r rune) bool {
	runes := []rune(set)
	for i := 0; i < len(runes); i++ {
		lo := runes[i]
		hi := runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			hi = runes[i+2]
			i += 2
		}
		if lo <= r && r <= hi {
			return true
		}
	}
	return false
}

// Check returns the problems of a pattern, each with its column.
func Check(pattern string) []diag.Finding {
	if pattern == "" {
		return problem(nil, 1, "the pattern is empty")
	}
	if len(pattern) > MaxPattern {
		return problem(nil, 1, "the pattern has %d bytes, at most %d are allowed", len(pattern), MaxPattern)
	}
	var out []diag.Finding
	if i := strings.IndexByte(pattern, '\\'); i >= 0 {
		out = problem(out, i+1, `the pattern %q contains "\"; segments are joined by "/"`, pattern)
	}
	if !utf8.ValidString(pattern) {
		out = problem(out, 1, "the pattern %q is not UTF-8", pattern)
	}
	column := 1
	for seg := range strings.SplitSeq(pattern, "/") {
		out = checkSegment(out, pattern, seg, column)
		column += len(seg) + 1
	}
	return out
}

func problem(fs []diag.Finding, column int, format string, args ...any) []diag.Finding {
	return append(fs, diag.Errorf(diag.Usage, 1, column, format, args...))
}

func checkSegment(out []diag.Finding, pattern, seg string, column int) []diag.Finding {
	switch {
	case seg == "**":
		return out
	case seg == "":
		return problem(out, column, "the pattern %q has an empty segment", pattern)
	case seg == "." || seg == "..":
		return problem(out, column, "the pattern %q has the segment %q", pattern, seg)
	}
	for i := 0; i < len(seg); i++ {
		switch {
		case strings.HasPrefix(seg[i:], "**"):
			return problem(out, column+i, `the pattern %q has "**" within a segment; write it alone between slashes`, pattern)
		case seg[i] == '[':
			set, length := cutSet(seg[i:])
			if length == 0 {
				return problem(out, column+i, `the pattern %q has "[" without "]"`, pattern)
			}
			if lo, hi, found := reversedRange(set); found {
				out = problem(out, column+i, "the pattern %q has the empty range %c-%c", pattern, lo, hi)
			}
			i += length - 1
		}
	}
	return out
}

// reversedRange returns the first range of a set whose ends are in the wrong
// order.
func reversedRange(set string) (lo, hi rune, found bool) {
	runes := []rune(strings.TrimLeft(set[:1], "!^") + set[1:])
	for i := 0; i+2 < len(runes); i++ {
		if runes[i+1] == '-' {
			if runes[i] > runes[i+2] {
				return runes[i], runes[i+2], true
			}
			i += 2
		}
	}
	return 0, 0, false
}
