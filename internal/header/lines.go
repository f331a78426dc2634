package header

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

// header parses the first run of comment lines.
func (c *collector) header(src, comment string) {
	run := commentRun(src, comment)
	for i := 0; i < len(run.lines); {
		i = c.line(run, i)
	}
}

// commentRun returns the text of the header's lines without their comment
// signs, with the position of each in the file.
func commentRun(src, comment string) *text {
	t := &text{}
	var b strings.Builder
	begun := false
	for n := 1; src != ""; n++ {
		line, rest, _ := strings.Cut(src, "\n")
		src = rest
		line = strings.TrimSuffix(line, "\r")
		body, ok := strings.CutPrefix(strings.TrimPrefix(line, "\ufeff"), comment)
		switch {
		case n == 1 && strings.HasPrefix(body, "!") || n == 1 && strings.HasPrefix(line, "#!"):
		case !begun && (strings.TrimSpace(line) == "" || ok && strings.HasPrefix(strings.TrimSpace(body), "rye:signed:")):
		case !ok:
			src = ""
		default:
			begun = true
			t.lines = append(t.lines, segment{b.Len(), diag.Position{Line: n, Column: len(line) - len(body) + 1}})
			b.WriteString(body)
			b.WriteByte('\n')
		}
	}
	t.s = b.String()
	return t
}

// line parses the i-th line of the header and returns the index of the next one.
func (c *collector) line(t *text, i int) int {
	start := t.lines[i].off
	end := start + strings.IndexByte(t.s[start:], '\n')
	key, keyOff, val := keyOf(t.s, start, end)
	if key == "" || !c.isKey(key) {
		return i + 1
	}
	keyPos := t.pos(keyOff)
	raw := strings.TrimSpace(t.s[val:end])
	val += strings.Index(t.s[val:end], raw)
	if raw == "" && i+1 < len(t.lines) {
		next := t.lines[i+1].off
		rest := strings.TrimLeft(t.s[next:], " \t")
		if rest[0] == '{' || rest[0] == '[' {
			val = next
			raw = rest
		}
	}
	if raw != "" && strings.IndexByte(`{["`, raw[0]) >= 0 {
		return c.jsonValue(t, i, key, keyPos, val)
	}
	c.set(key, keyPos, scalar(key, raw), map[string]diag.Position{tree.Join("", key): t.pos(val)})
	return i + 1
}

// keyOf splits "key: value" or "key = value"; key is "" for prose.
func keyOf(s string, start, end int) (key string, keyOff, val int) {
	i := start
	for i < end && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	keyOff = i
	for i < end && (isNameStart(s[i]) || i > keyOff && (isDigit(s[i]) || s[i] == '-')) {
		i++
	}
	key = s[keyOff:i]
	for i < end && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if i == end ||
		s[i] != ':' && s[i] != '=' ||
		s[i] == '=' && i+1 < end && s[i+1] == '=' {
		return "", 0, 0
	}
	return key, keyOff, i + 1
}

// scalar parses a value of one line that is not an object, a list or quoted.
func scalar(key, raw string) any {
	r := reader{t: &text{s: raw}}
	v, ok := r.word()
	if ok && r.i == len(raw) {
		return v
	}
	if !isDunder(key) {
		return raw
	}
	switch raw {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	n := len(raw)
	if n >= 2 &&
		raw[0] == '\'' &&
		raw[n-1] == '\'' &&
		!strings.ContainsAny(raw[1:n-1], `'\`) {
		return raw[1 : n-1]
	}
	return raw
}

// jsonValue parses JSON that starts at val and may continue on following lines.
func (c *collector) jsonValue(t *text, i int, key string, keyPos diag.Position, val int) int {
	r := reader{t: t, i: val, positions: map[string]diag.Position{}}
	v, ok := r.value(path("", key))
	if ok {
		rest, _, _ := strings.Cut(t.s[r.i:], "\n")
		if rest = strings.TrimLeft(rest, " \t"); rest != "" {
			ok = r.fail(
				r.i+strings.Index(t.s[r.i:], rest),
				"text follows the JSON value",
			)
		}
	}
	if !ok && c.flowValue(t, i, key, keyPos, val) {
		return i + 1
	}
	if !ok {
		c.errorf(diag.ParsingError, t.pos(r.off), "reading the JSON value of %q: %s", key, r.why)
		return i + 1
	}
	if c.repeated(t, &r, "JSON value of", key) {
		return t.lineAfter(r.i)
	}
	c.set(key, keyPos, v, r.positions)
	return t.lineAfter(r.i)
}

// flowValue reads the rest of a line as a YAML mapping or list, such as
// {net: none}, and reports whether it is one.
func (c *collector) flowValue(t *text, i int, key string, keyPos diag.Position, val int) bool {
	start := t.lines[i].off
	end := t.lines[i].off + strings.IndexByte(
		t.s[t.lines[i].off:],
		'\n',
	)
	if val < start || val > end || !isFlow(t.s[val:end]) {
		return false // the value is on a later line, or JSON
	}
	doc, fs := yamlx.Parse([]byte("v: " + t.s[val:end]))
	if doc == nil || len(fs) > 0 {
		return false
	}
	base := t.pos(val)
	positions := map[string]diag.Position{}
	for at, p := range doc.Pos {
		if at != "" {
			positions[tree.Join("", key)+strings.TrimPrefix(at, "v")] = diag.Position{Line: base.Line, Column: base.Column + p.Column - len("v: ") - 1}
		}
	}
	positions[tree.Join("", key)] = base
	c.set(key, keyPos, doc.Root["v"], positions)
	return true
}

// isFlow reports whether a value begins with a bracket and a name without quotes,
// which JSON does not permit.
func isFlow(s string) bool {
	inner := strings.TrimLeft(s[1:], " \t")
	return s[0] != '"' && inner != "" && isNameStart(inner[0])
}

// repeated reports the keys that occur twice in one object of the value.
func (c *collector) repeated(t *text, r *reader, what, key string) bool {
	for _, k := range r.twice {
		c.errorf(diag.ParsingError, t.pos(k.off), "reading the %s %q: the key %q is given twice in one object", what, key, k.key)
	}
	return len(r.twice) > 0
}
