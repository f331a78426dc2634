package header

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// constants parses every "const NAME = literal" that starts in column 0 outside
// block comments.
func (c *collector) constants(src string) {
	t := whole(src)
	for i := 0; i < len(t.lines); i++ {
		start := t.lines[i].off
		line := src[start : start+lineLen(src[start:])]
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "/*") {
			i = t.commentEnd(i)
			continue
		}
		name, nameOff, val := declaration(line)
		if isConstant(name) && name != "" && c.isKey(name) {
			i = max(i, c.constant(t, name, start+nameOff, start+val))
		}
	}
}

// commentEnd returns the line on which the block comment of line i ends.
func (t *text) commentEnd(i int) int {
	start := t.lines[i].off
	n := strings.Index(t.s[start:], "*/")
	if n < 0 {
		return len(t.lines)
	}
	return t.lineOf(start + n)
}

// declaration splits "export const NAME: T = " and returns where the value
// begins; name is "" if the line is not a declaration.
func declaration(line string) (name string, nameOff, val int) {
	rest := line
	after, ok := strings.CutPrefix(rest, "export")
	if ok && after != "" && (after[0] == ' ' || after[0] == '\t') {
		rest = strings.TrimLeft(after, " \t")
	}
	after, ok = strings.CutPrefix(rest, "const")
	if !ok || after == "" || after[0] != ' ' && after[0] != '\t' {
		return "", 0, 0
	}
	rest = strings.TrimLeft(after, " \t")
	n := 0
	for n < len(rest) && (isNameStart(rest[n]) || isDigit(rest[n])) {
		n++
	}
	eq := assignment(rest[n:])
	if n == 0 || eq < 0 {
		return "", 0, 0
	}
	nameOff = len(line) - len(rest)
	return rest[:n], nameOff, nameOff + n + eq + 1
}

// assignment returns the offset of "=" after an optional type, or -1.
func assignment(s string) int {
	trimmed := strings.TrimLeft(s, " \t")
	if trimmed == "" || trimmed[0] != ':' && trimmed[0] != '=' {
		return -1
	}
	for i := len(s) - len(trimmed); i < len(s); i++ {
		if s[i] != '=' {
			continue
		}
		if i+1 < len(s) &&
			(s[i+1] == '>' || s[i+1] == '=') {
			i++
			continue
		}
		return i
	}
	return -1
}

// constant parses one value and returns its last line, or the line before an
// error, so that no line belongs to two values.
func (c *collector) constant(t *text, name string, nameOff, val int) int {
	r := reader{
		t:         t,
		i:         val,
		js:        true,
		positions: map[string]diag.Position{},
	}
	v, ok := r.value(path("", name))
	end := r.i
	if ok && r.continues() {
		ok = r.fail(end, "an expression is not a literal")
	}
	if !ok {
		c.errorf(diag.ParsingError, t.pos(r.off), "reading the constant %q: %s", name, r.why)
		return t.lineOf(r.off) - 1
	}
	if !c.repeated(t, &r, "constant", name) {
		c.set(name, t.pos(nameOff), v, r.positions)
	}
	return t.lineOf(max(val, end-1))
}

// continues reports whether the value is only the beginning of an expression: a
// value ends at a semicolon, at the end of the file, or at a line end without an
// operator after it. "as T" and "satisfies T" do not change the value.
func (r *reader) continues() bool {
	end := r.i
	r.blanks()
	rest := r.t.s[r.i:]
	if rest == "" || rest[0] == ';' {
		return false
	}
	if strings.HasPrefix(rest, "as ") || strings.HasPrefix(rest, "satisfies ") {
		typ, _, _ := strings.Cut(rest[:lineLen(rest)], ";")
		return strings.ContainsAny(typ, "+*/%?(`")
	}
	newLine := strings.IndexByte(r.t.s[end:r.i], '\n') >= 0
	return !newLine || strings.IndexByte("+-*/%.,?([<>=&|^`", rest[0]) >= 0
}
