// Package yamlx parses YAML strictly and writes it deterministically: one
// document, plain keys, no anchors, tags or merges, every value with its
// position.
//
// If parsers of YAML 1.1 and 1.2 would return different values, it warns (yes,
// 0777, 12:30) or refuses the document (other line ends, directives, keys that
// are not strings).
//
// It is the only package that imports a YAML module. It checks no schema and
// opens no files.
package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
)

// MaxDepth is the deepest nesting of mappings and lists.
const MaxDepth = 64

// MaxPath is the longest path of keys, in bytes: every entry below a key of
// half a megabyte would contain a copy of it.
const MaxPath = 1024

// Parse parses one YAML document whose top level is a mapping. The Doc is nil
// exactly when a finding is an error. The position of an entry is the position of its
// key.
func Parse(b []byte) (*tree.Doc, []diag.Finding) {
	return parseMapping(b, false)
}

// ParseItem is Parse for items: they contain JSON Schemas of other programs, whose
// integers can be larger than 64 bits. Such an integer is a json.Number.
func ParseItem(b []byte) (*tree.Doc, []diag.Finding) {
	return parseMapping(b, true)
}

func parseMapping(b []byte, large bool) (*tree.Doc, []diag.Finding) {
	v, pos, found := parse(b, large)
	if diag.Failed(found) {
		return nil, found
	}
	root, ok := v.(map[string]any)
	if !ok {
		at := pos[""]
		return nil, append(found, diag.Errorf(diag.ParsingError, at.Line, at.Column,
			"the top level is %s, a mapping is required", typeName(v)))
	}
	return &tree.Doc{Root: root, Pos: pos}, found
}

// ParseAny parses one YAML document of any type, with the positions of its parts
// keyed as in tree.Doc. The positions are nil exactly when a finding is an error.
func ParseAny(b []byte) (any, map[string]diag.Position, []diag.Finding) {
	return parse(b, false)
}

func parse(b []byte, large bool) (any, map[string]diag.Position, []diag.Finding) {
	// Most lines and commas have a value with a position.
	r := reader{b: b, large: large, pos: make(map[string]diag.Position, min(
		bytes.Count(b, []byte{'\n'})+bytes.Count(b, []byte{','}),
		1<<12,
	))}
	if r.found = precheck(b); len(r.found) > 0 {
		return nil, nil, r.found
	}
	v := r.document()
	if diag.Failed(r.found) {
		return nil, nil, r.found
	}
	return v, r.pos, r.found
}

type reader struct {
	b     []byte
	lines []int // offsets at which lines begin
	ascii bool
	large bool // see ParseItem
	bang  bool // the text contains "!", so it may have tags
	last  struct{ line, column, off int }
	pos   map[string]diag.Position
	paths strings.Builder // the last of the keys of pos
	found []diag.Finding
}

func (r *reader) document() any {
	r.ascii, r.bang = isASCII(r.b), bytes.IndexByte(r.b, '!') >= 0
	dec := yaml.NewDecoder(bytes.NewReader(r.b))
	doc, err := decode(dec)
	switch {
	case errors.Is(err, io.EOF):
		return r.fail(diag.Position{Line: 1, Column: 1}, "the document is empty")
	case err != nil:
		return r.syntax(err)
	}
	n := doc.Content[0]
	r.pos[""] = r.position(n)
	v := r.value(n, "", 1)
	next, err := decode(dec)
	switch {
	case err == nil:
		r.fail(r.position(next), "a second document begins; one is allowed")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
	}
	return v
}

// decode parses the next document. The module panics on some damaged input; a
// parser of untrusted files must return an error.
func decode(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	n = &yaml.Node{}
	if err = dec.Decode(n); err == nil && len(n.Content) != 1 {
		err = io.EOF
	}
	return n, err
}

func (r *reader) fail(at diag.Position, format string, args ...any) any {
	r.found = append(r.found, diag.Errorf(
		diag.ParsingError,
		at.Line,
		at.Column,
		format,
		args...,
	))
	return nil
}

func (r *reader) warn(at diag.Position, format string, args ...any) {
	r.found = append(r.found, diag.Warnf(
		diag.ParsingError,
		at.Line,
		at.Column,
		format,
		args...,
	))
}

// position returns the position of a node. The module's column counts characters, the column
// of the result bytes.
func (r *reader) position(n *yaml.Node) diag.Position {
	if r.ascii {
		return diag.Position{Line: n.Line, Column: n.Column}
	}
	off := r.offset(n.Line, n.Column)
	if n.Line > len(r.lines) {
		return diag.Position{Line: n.Line, Column: n.Column}
	}
	return diag.Position{Line: n.Line, Column: off - r.lines[n.Line-1] + 1}
}

// offset returns the offset of a node at a line and column of the module. Nodes come in
// the order of the text, so counting continues from the node before: the time for a long
// line is linear.
func (r *reader) offset(line, column int) int {
	if r.lines == nil {
		r.lines = lineStarts(r.b)
	}
	if line < 1 || line > len(r.lines) {
		return len(r.b)
	}
	if r.last.line != line || r.last.column > column {
		r.last.line, r.last.column, r.last.off = line, 1, r.lines[line-1]
	}
	if r.ascii {
		return r.lines[line-1] + column - 1
	}
	off := r.last.off
	for c := r.last.column; c < column && off < len(r.b); c++ {
		off++
		for off < len(r.b) && r.b[off]&0xC0 == 0x80 {
			off++
		}
	}
	r.last.column = column
	r.last.off = off
	return off
}

func lineStarts(b []byte) []int {
	out := []int{0}
	for i, c := range b {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// precheck refuses what the module would accept silently: other encodings, line
// ends that only some parsers accept, directives.
func precheck(b []byte) []diag.Finding {
	if found := hidden.Encoding(b); len(found) > 0 {
		return found
	}
	var out []diag.Finding
	add := func(off int, format string, args ...any) {
		at := hidden.Position(b, off)
		out = append(out, diag.Errorf(
			diag.ParsingError,
			at.Line,
			at.Column,
			format,
			args...,
		))
	}
	if i := control(b); i >= 0 {
		add(i, "the control character %s is not allowed", hidden.Visible(string(
			[]rune(string(b[i:min(len(b), i+4)]))[:1],
		)))
	}
	if i := directive(b); i >= 0 {
		add(i, "directives (%%) are not allowed")
	}
	return out
}

// control returns the offset of the first control character or unusual line
// end, or -1.
func control(b []byte) int {
	for i, c := range b {
		switch {
		case c >= 0x20 && c < 0x7f, c == '\n', c == '\t':
		case c < 0x20 && !(c == '\r' && i+1 < len(b) && b[i+1] == '\n'), c == 0x7f,
			c == 0xC2 && b[i+1] <= 0x9F,                        // C1, NEL among them
			c == 0xE2 && b[i+1] == 0x80 && b[i+2]&0xFE == 0xA8: // U+2028, U+2029
			return i
		}
	}
	return -1
}

// directive returns the offset of a line that begins with "%" before the
// document does, or -1.
func directive(b []byte) int {
	for off := 0; off < len(b); {
		line, _, _ := bytes.Cut(b[off:], []byte{'\n'})
		text := bytes.TrimSpace(line)
		switch {
		case len(line) > 0 && line[0] == '%':
			return off
		case len(text) > 0 && text[0] != '#':
			return -1
		}
		off += len(line) + 1
	}
	return -1
}
