package pylit

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Reasons why a value is not a literal.
const (
	whyExpression = "a call, name or expression"
	whyDepth      = "nested deeper than 64"
	whyKey        = "a dictionary whose keys are not all strings"
	whyBytes      = "bytes"
	whyFString    = "an f-string"
	whyEscape     = `an escape \N{…}`
	whyText       = "text that is not valid Unicode"
	whyNumber     = "a number that does not fit in 64 bits"
)

// reader evaluates the tokens of one value: what Python's ast.literal_eval
// accepts, without the values that package tree does not have.
type reader struct {
	s         *scanner
	t         []token
	i         int
	depth     int
	positions map[string]diag.Position
	why       string
	off       int
}

func (r *reader) fail(t token, why string) bool {
	if r.why == "" {
		r.why = why
		r.off = t.pos
	}
	return false
}

// peek returns the current token, or the last one with an empty text.
func (r *reader) peek() (token, string) {
	if r.i < len(r.t) {
		return r.t[r.i], r.s.text(r.t[r.i])
	}
	return token{kind: eof, pos: r.t[len(r.t)-1].pos}, ""
}

func (r *reader) accept(op string) bool {
	t, text := r.peek()
	if t.kind == operator && text == op {
		r.i++
		return true
	}
	return false
}

func (r *reader) mark(p string, t token) {
	if p != longPath {
		r.positions[p] = r.s.pos(t.pos)
	}
}

// list reads "a" or the bare tuple "a, b".
func (r *reader) list(p string) (any, bool) {
	if r.separator() != "," {
		return r.value(p)
	}
	t, _ := r.peek()
	r.mark(p, t)
	return r.elements(p, "")
}

// separator returns "," or ":" if one of them follows before the enclosing
// bracket is closed. Looking ahead avoids parsing a value twice, which would
// double the work with every nested bracket.
func (r *reader) separator() string {
	depth := 0
	for _, t := range r.t[r.i:] {
		if t.kind != operator {
			continue
		}
		switch text := r.s.text(t); text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return ""
			}
		case ",", ":":
			if depth == 0 {
				return text
			}
		}
	}
	return ""
}

// value parses one literal.
func (r *reader) value(p string) (any, bool) {
	t, text := r.peek()
	if r.depth++; r.depth > maxDepth {
		return nil, r.fail(t, whyDepth)
	}
	defer func() { r.depth-- }()
	r.mark(p, t)
	switch t.kind {
	case str:
		return r.text()
	case number:
		r.i++
		return r.number(t, text, false)
	case name:
		r.i++
		return r.constant(t, text)
	case operator:
		r.i++
		return r.compound(p, t, text)
	}
	return nil, r.fail(t, whyExpression)
}

func (r *reader) constant(t token, text string) (any, bool) {
	switch text {
	case "True":
		return true, true
	case "False":
		return false, true
	case "None":
		return nil, true
	}
	return nil, r.fail(t, whyExpression)
}

func (r *reader) compound(p string, t token, text string) (any, bool) {
	switch text {
	case "-", "+":
		return r.signed(t, text == "-")
	case "[":
		return r.elements(p, "]")
	case "(":
		return r.parens(p)
	case "{":
		return r.braces(p)
	}
	return nil, r.fail(t, whyExpression)
}

// signed parses the number after a sign, which may have a sign or brackets of its
// own.
func (r *reader) signed(t token, minus bool) (any, bool) {
	n, text := r.peek()
	if n.kind == number {
		r.i++
		return r.number(n, text, minus)
	}
	if n.kind != operator {
		return nil, r.fail(t, whyExpression)
	}
	v, ok := r.value(longPath)
	switch x := v.(type) {
	case int64:
		if minus && x == -1<<63 {
			return nil, r.fail(t, whyNumber)
		}
		if minus {
			x = -x
		}
		return x, ok
	case float64:
		if minus {
			x = -x
		}
		return x, ok
	}
	return nil, r.fail(t, whyExpression)
}

// elements reads values up to the closing bracket, or to the end when closing
// is "".
func (r *reader) elements(p, closing string) (any, bool) {
	out := []any{}
	for !r.ends(closing) {
		v, ok := r.value(index(p, len(out)))
		if !ok {
			return nil, false
		}
		out = append(out, v)
		if !r.accept(",") && !r.ends(closing) {
			t, _ := r.peek()
			return nil, r.fail(t, whyExpression)
		}
	}
	r.accept(closing)
	return out, true
}

// ends reports whether the current token is the bracket, or the last one for "".
func (r *reader) ends(closing string) bool {
	t, text := r.peek()
	return text == closing && (t.kind == operator || closing == "")
}

// parens reads (), (a), (a,) and (a, b).
func (r *reader) parens(p string) (any, bool) {
	if r.ends(")") || r.separator() == "," {
		return r.elements(p, ")")
	}
	v, ok := r.value(p)
	if ok && !r.accept(")") {
		t, _ := r.peek()
		return nil, r.fail(t, whyExpression)
	}
	return v, ok
}

// braces reads a dictionary or a set.
func (r *reader) braces(p string) (any, bool) {
	if r.ends("}") || r.separator() == ":" {
		return r.dict(p)
	}
	return r.elements(p, "}")
}

func (r *reader) dict(p string) (any, bool) {
	out := map[string]any{}
	for !r.accept("}") {
		t, _ := r.peek()
		k, ok := r.value(longPath)
		if !ok {
			return nil, false
		}
		key, isText := k.(string)
		if !isText {
			return nil, r.fail(t, whyKey)
		}
		if !r.accept(":") {
			return nil, r.fail(t, whyExpression)
		}
		if _, twice := out[key]; twice {
			r.s.duplicate(t, key)
		}
		if out[key], ok = r.value(path(p, key)); !ok {
			return nil, false
		}
		if !r.accept(",") && !r.ends("}") {
			n, _ := r.peek()
			return nil, r.fail(n, whyExpression)
		}
	}
	return out, true
}

func (s *scanner) duplicate(t token, key string) {
	if len(s.findings) < maxWarnings {
		p := s.pos(t.pos)
		s.findings = append(s.findings, diag.Warnf(diag.ValidationFailed, p.Line, p.Column,
			"the key %q is given twice in one dictionary, the last one is used", key))
	}
}

// longPath replaces a path that is too long to keep, or whose position is not
// recorded.
const longPath = "\x00"

func path(parent, key string) string {
	if parent == longPath || len(parent)+len(key) > maxPath {
		return longPath
	}
	return tree.Join(parent, key)
}

func index(parent string, i int) string {
	if parent == longPath || len(parent) > maxPath {
		return longPath
	}
	return tree.Index(parent, i)
}
