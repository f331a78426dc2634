package header

import (
	"sort"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// text is the parsed text, with the positions of its lines in the file.
type text struct {
	s     string
	lines []segment
	open  bool // a block comment has no end, so later ones have none either
}

// segment is the position in the file of the line that starts at off.
type segment struct {
	off int
	pos diag.Position
}

// lineOf returns the index of the line that contains off.
func (t *text) lineOf(off int) int {
	return sort.Search(len(t.lines), func(i int) bool {
		return t.lines[i].off > off
	}) - 1
}

func (t *text) lineAfter(off int) int {
	return t.lineOf(off) + 1
}

func (t *text) pos(off int) diag.Position {
	l := t.lines[t.lineOf(off)]
	return diag.Position{Line: l.pos.Line, Column: l.pos.Column + off - l.off}
}

// whole returns a file with the positions of its lines.
func whole(s string) *text {
	t := &text{s: s, lines: []segment{{0, diag.Position{Line: 1, Column: 1}}}}
	for i := range len(s) {
		if s[i] == '\n' {
			t.lines = append(t.lines, segment{i + 1, diag.Position{Line: len(t.lines) + 1, Column: 1}})
		}
	}
	return t
}

// longPath replaces a path that is too long to keep.
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

func isNameStart(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
func isDigit(c byte) bool {
	return c >= '0' && c <= '9'
}
