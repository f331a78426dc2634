package yamlx

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// syntax reports an error of the module. The module states a line only if it is
// not the first, counts lines of parser errors from 0 and of scanner errors from
// 1, and states no column. The column is derived from the error and the line.
func (r *reader) syntax(err error) any {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		num, what, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(num); err == nil {
			line = n
			text = what
			if strings.HasPrefix(what, "did not find expected") && !strings.Contains(what, "character") {
				line++
			}
		}
	}
	if name, ok := strings.CutPrefix(text, "unknown anchor '"); ok {
		name = "*" + strings.TrimSuffix(name, "' referenced")
		return r.fail(
			hidden.Position(r.b, max(0, bytes.Index(r.b, []byte(name)))),
			"aliases (%s) are not allowed",
			name,
		)
	}
	if text == "control characters are not allowed" {
		return r.fail(
			hidden.Position(r.b, max(0, bytes.IndexAny(r.b, "\ufeff\ufffe\uffff"))),
			"%s",
			text,
		)
	}
	return r.fail(r.likelyPosition(line, text), "%s", text)
}

// likelyPosition returns the position that an error is probably about: the
// construct that the error mentions, else the first word of the line.
func (r *reader) likelyPosition(line int, text string) diag.Position {
	lines := bytes.Split(r.b, []byte{'\n'})
	for line > 1 && (line > len(lines) || len(bytes.TrimSpace(lines[line-1])) == 0) {
		line-- // at the end of the text: the last line that has text
	}
	l := lines[line-1]
	col := len(l) - len(bytes.TrimLeft(l, " ")) + 1
	switch {
	case strings.HasPrefix(text, "mapping values"):
		i := bytes.Index(l, []byte(": "))
		if i >= 0 {
			col = i + 1
			j := bytes.Index(l[i+1:], []byte(":"))
			if j >= 0 {
				col += j + 1
			}
		}
	case strings.HasPrefix(text, "found character that cannot"):
		if i := bytes.IndexAny(l, "@`%\t"); i >= 0 {
			col = i + 1
		}
	case strings.HasPrefix(text, "found unknown escape"):
		if i := bytes.IndexByte(l, '\\'); i >= 0 {
			col = i + 1
		}
	}
	return diag.Position{Line: line, Column: col}
}
