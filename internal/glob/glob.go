// Package glob matches slash-separated names against patterns such as
// "acme/**" and "drafts/*".
//
// A pattern is segments joined by "/". Within a segment "*" is any text, "?"
// one character, "[a-z]" or "[!a-z]" one character of a set. The segment "**"
// is any number of segments, at the end of a longer pattern at least one:
// "acme/**" is what lies below acme, not acme itself.
//
// It never lists a directory. Capabilities have their own matching rules, which
// are not these.
package glob

import (
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// MaxPattern is the longest pattern, in bytes.
const MaxPattern = 1024

// IsPattern reports whether s holds a character special in patterns.
func IsPattern(s string) bool { return strings.ContainsAny(s, "*?[") }

// Match reports whether the whole name fits the pattern. A pattern that Check
// refuses matches nothing. The work is bounded by the product of both lengths.
func Match(pattern, name string) bool {
	if name == "" || len(Check(pattern)) > 0 {
		return false
	}
	return matchPath(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// matchPath returns to the last "**" only: whatever an earlier one could take
// more, the last one can take as well.
func matchPath(pat, name []string) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(name) {
		switch {
		case p < len(pat) && pat[p] == "**":
			if p == len(pat)-1 {
				return true
			}
			star, from = p, n
			p++
		case p < len(pat) && matchSegment(pat[p], name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return p == len(pat)
}

// matchSegment matches within one segment, by the same rule with "*".
func matchSegment(pat, s string) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if p < len(pat) && pat[p] == '*' {
			star, from = p, n
			p++
			continue
		}
		if p < len(pat) {
			if width, ok := matchOne(pat[p:], r); ok {
				p += width
				n += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(s[from:])
		from += size
		p, n = star+1, from
	}
	return strings.Trim(pat[p:], "*") == ""
}

// matchOne matches r against the first element of pat and returns its width.
func matchOne(pat string, r rune) (int, bool) {
	switch pat[0] {
	case '?':
		return 1, true
	case '[':
		set, width := cutSet(pat)
		negated := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
		if negated {
			set = set[1:]
		}
		return width, inSet(set, r) != negated
	}
	want, width := utf8.DecodeRuneInString(pat)
	return width, want == r
}

// cutSet returns what stands between the brackets pat begins with, and the
// width of the whole; 0 when they do not close. "]" right after the opening
// is an element.
func cutSet(pat string) (string, int) {
	i := 1
	if i < len(pat) && (pat[i] == '!' || pat[i] == '^') {
		i++
	}
	if i >= len(pat) {
		return "", 0
	}
	j := strings.IndexByte(pat[i+1:], ']')
	if j < 0 {
		return "", 0
	}
	end := i + 1 + j
	return pat[1:end], end + 1
}

func inSet(set string, r rune) bool {
	runes := []rune(set)
	for i := 0; i < len(runes); i++ {
		lo, hi := runes[i], runes[i]
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

// Check reports what is wrong with a pattern, with the column in it.
func Check(pattern string) []diag.Finding {
	if pattern == "" {
		return bad(nil, 1, "the pattern is empty")
	}
	if len(pattern) > MaxPattern {
		return bad(nil, 1, "the pattern has %d bytes, at most %d are allowed", len(pattern), MaxPattern)
	}
	var out []diag.Finding
	if i := strings.IndexByte(pattern, '\\'); i >= 0 {
		out = bad(out, i+1, `the pattern %q holds "\"; segments are joined by "/"`, pattern)
	}
	if !utf8.ValidString(pattern) {
		out = bad(out, 1, "the pattern %q is not UTF-8", pattern)
	}
	col := 1
	for seg := range strings.SplitSeq(pattern, "/") {
		out = checkSegment(out, pattern, seg, col)
		col += len(seg) + 1
	}
	return out
}

func bad(fs []diag.Finding, col int, format string, args ...any) []diag.Finding {
	return append(fs, diag.Errorf(diag.Usage, 1, col, format, args...))
}

func checkSegment(out []diag.Finding, pattern, seg string, col int) []diag.Finding {
	switch {
	case seg == "**":
		return out
	case seg == "":
		return bad(out, col, "the pattern %q has an empty segment", pattern)
	case seg == "." || seg == "..":
		return bad(out, col, "the pattern %q has the segment %q", pattern, seg)
	}
	for i := 0; i < len(seg); i++ {
		switch {
		case strings.HasPrefix(seg[i:], "**"):
			return bad(out, col+i, `the pattern %q has "**" within a segment; write it alone between slashes`, pattern)
		case seg[i] == '[':
			set, width := cutSet(seg[i:])
			if width == 0 {
				return bad(out, col+i, `the pattern %q has "[" without "]"`, pattern)
			}
			if lo, hi, ok := badRange(set); ok {
				out = bad(out, col+i, "the pattern %q has the empty range %c-%c", pattern, lo, hi)
			}
			i += width - 1
		}
	}
	return out
}

// badRange returns the first range of a set whose ends are in the wrong order.
func badRange(set string) (lo, hi rune, ok bool) {
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
