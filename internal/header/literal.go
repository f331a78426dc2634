package header

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
)

// reader parses one literal: JSON, or with js a JavaScript literal (also bare
// keys, other quotes, comments, trailing commas, more forms of numbers).
type reader struct {
	t         *text
	i         int
	js        bool
	depth     int
	positions map[string]diag.Position // nil if positions are not kept
	twice     []repeated
	why       string
	off       int
}

// repeated is a key given twice in one object.
type repeated struct {
	off int
	key string
}

func (r *reader) fail(off int, format string, args ...any) bool {
	if r.why == "" {
		r.off, r.why = min(off, max(0, len(r.t.s)-1)), fmt.Sprintf(format, args...)
	}
	return false
}

// peek returns the current byte, or 0 at the end.
func (r *reader) peek() byte {
	if r.i < len(r.t.s) {
		return r.t.s[r.i]
	}
	return 0
}

func (r *reader) accept(c byte) bool {
	if r.peek() == c && r.i < len(r.t.s) {
		r.i++
		return true
	}
	return false
}

// blanks skips white space and, in JavaScript, comments.
func (r *reader) blanks() {
	for r.i < len(r.t.s) {
		rest := r.t.s[r.i:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			r.i++
		case r.js && strings.HasPrefix(rest, "//"):
			r.i += lineLen(rest)
		case r.js && strings.HasPrefix(rest, "/*"):
			n := -1
			if !r.t.open {
				n = strings.Index(rest, "*/")
			}
			if n < 0 {
				r.t.open = true
				r.fail(r.i, "a comment is never closed")
				r.i = len(r.t.s)
				return
			}
			r.i += n + 2
		default:
			return
		}
	}
}

func lineLen(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// value parses one literal.
func (r *reader) value(p string) (any, bool) {
	r.blanks()
	if r.depth++; r.depth > maxDepth {
		return nil, r.fail(r.i, "nested deeper than %d", maxDepth)
	}
	defer func() { r.depth-- }()
	if r.positions != nil && p != longPath && r.i < len(r.t.s) {
		r.positions[p] = r.t.pos(r.i)
	}
	switch c := r.peek(); {
	case c == '{':
		r.i++
		return r.object(p)
	case c == '[':
		r.i++
		return r.list(p)
	case c == '"', r.js && (c == '\'' || c == '`'):
		return r.text(c)
	}
	return r.word()
}

func (r *reader) list(p string) (any, bool) {
	out := []any{}
	for {
		if r.blanks(); r.peek() == ']' && (len(out) == 0 || r.js) {
			r.i++
			return out, true
		}
		v, ok := r.value(index(p, len(out)))
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if done, ok := r.separator(']'); done || !ok {
			return out, ok
		}
	}
}

func (r *reader) object(p string) (any, bool) {
	out := map[string]any{}
	for {
		if r.blanks(); r.peek() == '}' && (len(out) == 0 || r.js) {
			r.i++
			return out, true
		}
		start := r.i
		key, ok := r.key()
		if !ok {
			return nil, false
		}
		if r.blanks(); !r.accept(':') {
			return nil, r.fail(r.i, "a colon is missing after the key %q", key)
		}
		if _, twice := out[key]; twice {
			r.twice = append(r.twice, repeated{start, key})
		}
		if out[key], ok = r.value(path(p, key)); !ok {
			return nil, false
		}
		if done, ok := r.separator('}'); done || !ok {
			return out, ok
		}
	}
}

// separator parses "," or the closing bracket.
func (r *reader) separator(closing byte) (done, ok bool) {
	r.blanks()
	switch {
	case r.accept(closing):
		return true, true
	case r.accept(','):
		return false, true
	case r.i == len(r.t.s):
		return false, r.fail(r.i, "%q is missing at the end", closing)
	}
	return false, r.fail(r.i, "a comma or %q is missing", closing)
}

// key parses the key of an object.
func (r *reader) key() (string, bool) {
	c := r.peek()
	if c == '"' || r.js && c == '\'' {
		v, ok := r.text(c)
		key, _ := v.(string)
		return key, ok
	}
	start := r.i
	for r.js && (isNameStart(r.peek()) || r.peek() == '$' || isDigit(r.peek())) {
		r.i++
	}
	if r.i == start {
		if r.i == len(r.t.s) {
			return "", r.fail(r.i, "%q is missing at the end", '}')
		}
		return "", r.fail(start, "a key is missing")
	}
	return r.t.s[start:r.i], true
}
