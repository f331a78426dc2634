package header

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// Key is the name of a line "key: value".
type Key struct {
	Name string
	Pos  diag.Position
}

// Unknown returns the lines of the comment header that are written like metadata and
// are not read: "key: value" with a lower-case key that isKey does not know, in one
// block with lines that it knows. A line of prose ends a block, an empty comment line
// does not. Names that begin with x- are the author's own.
func Unknown(src []byte, comment string, isKey func(string) bool) []Key {
	c := newCollector(isKey)
	t := commentRun(string(src), comment)
	if !c.mayBeUnknown(t) {
		return nil
	}
	var out, block []Key
	known := false
	end := func() {
		if known {
			out = append(out, block...)
		}
		block = nil
		known = false
	}
	for i := 0; i < len(t.lines); {
		next := c.line(t, i)
		line, _, _ := strings.Cut(t.s[t.lines[i].off:], "\n")
		name, off := plainKey(t, i)
		switch {
		case next > i+1 || name != "" && c.isKey(name):
			known = true
		case name != "" && !strings.HasPrefix(name, "x-"):
			block = append(block, Key{name, t.pos(off)})
		case name == "" && strings.TrimSpace(line) != "":
			end()
		}
		i = next
	}
	end()
	return out
}

// mayBeUnknown reports whether a line names another key than those that are known. Most
// headers have none, and then it does not matter where their values end.
func (c *collector) mayBeUnknown(t *text) bool {
	for i := range t.lines {
		name, _ := plainKey(t, i)
		if name != "" && !c.isKey(name) && !strings.HasPrefix(name, "x-") {
			return true
		}
	}
	return false
}

// plainKey returns the key of the i-th line and its offset, "" for prose: a key has no
// capital letters and is followed by a colon and a space.
func plainKey(t *text, i int) (string, int) {
	start := t.lines[i].off
	end := start + strings.IndexByte(t.s[start:], '\n')
	name, off, val := keyOf(t.s, start, end)
	switch {
	case name == "" || isDunder(name):
		return name, off
	case name != strings.ToLower(name) || t.s[val-1] != ':' || val < end && t.s[val] != ' ' && t.s[val] != '\t':
		return "", 0
	}
	return name, off
}
