package tmpl

import "strings"

// reference is one {input:...} of a directive's text.
type reference struct {
	raw      string // as written
	name     string
	fallback string
	optional bool // fallback replaces a missing value
}

// Inputs replaces references to inputs. If values does not have k, {input:k} stays as
// it is, {input:k?} becomes nothing, {input:k:default} and {input:k|default} become
// the default, which ends at the next closing brace.
func Inputs(s string, values map[string]string) string {
	var b strings.Builder
	scan(s, func(text string, r reference) {
		b.WriteString(text)
		v, ok := values[r.name]
		switch {
		case r.raw == "":
		case ok:
			b.WriteString(v)
		case r.optional:
			b.WriteString(r.fallback)
		default:
			b.WriteString(r.raw)
		}
	})
	return b.String()
}

const inputHead = "{input:"

// scan calls piece for each text and the reference after it; the last text has none.
func scan(s string, piece func(text string, r reference)) {
	last := strings.LastIndexByte(s, '}') // no reference begins after it, which keeps the scan linear
	done := 0
	at := 0
	for {
		i := strings.Index(s[at:], inputHead)
		if i < 0 || at+i > last {
			piece(s[done:], reference{})
			return
		}
		i += at
		at = i + len(inputHead)
		if r, ok := parseInput(s[i:]); ok {
			piece(s[done:i], r)
			done = i + len(r.raw)
			at = done
		}
	}
}

// parseInput parses the reference at the beginning of s, which has a closing brace.
func parseInput(s string) (reference, bool) {
	n := len(inputHead) + span(s[len(inputHead):], isInputName)
	r := reference{name: s[len(inputHead):n]}
	if r.name == "" || n == len(s) {
		return r, false
	}
	rest := s[n:]
	switch {
	case rest[0] == '}':
		r.raw = s[:n+1]
	case strings.HasPrefix(rest, "?}"):
		r.raw = s[:n+2]
		r.optional = true
	case rest[0] == ':' || rest[0] == '|':
		end := strings.IndexByte(rest, '}')
		r.raw = s[:n+end+1]
		r.optional = true
		r.fallback = rest[1:end]
	}
	return r, r.raw != ""
}

func isInputName(c byte) bool {
	return isWord(c) || c == '-'
}
