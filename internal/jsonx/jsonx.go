// Package jsonx parses JSON strictly, with the positions of its parts, and
// writes it in one compact form.
//
// It is stricter than RFC 8259: duplicate keys, byte order marks, lone
// surrogates and numbers that do not fit 64 bits are refused, so that no two
// parsers return different values for one file. Values are as in package
// tree.
//
// It checks no schema and opens no files.
package jsonx

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
)

// MaxDepth is the deepest nesting of arrays and objects.
const MaxDepth = 64

// MaxMessageDepth is the deepest nesting that ParseMessage reads.
const MaxMessageDepth = 1000

// MaxPath is the longest path, in bytes, below which Parse keeps positions: every
// member below a key of half a megabyte would contain a copy of it.
const MaxPath = 1024

// Parse parses one JSON object. The Doc is nil exactly when a finding is an
// error. The position of a member is the position of its key.
func Parse(b []byte) (*tree.Doc, []diag.Finding) {
	p := parser{b: b, line: 1, pos: map[string]diag.Position{}}
	v := p.document()
	root, ok := v.(map[string]any)
	if !ok && len(p.found) == 0 {
		p.fail(p.firstByte(), "the top level is %s, an object is required", typeName(v))
	}
	if len(p.found) > 0 {
		return nil, p.found
	}
	return &tree.Doc{Root: root, Pos: p.pos}, nil
}

// ParseValue parses one JSON value of any type. It returns nil with findings.
func ParseValue(b []byte) (any, []diag.Finding) {
	p := parser{b: b, line: 1}
	v := p.document()
	if len(p.found) > 0 {
		return nil, p.found
	}
	return v, nil
}

// ParseMessage parses one value of a message of another program. Unlike the
// values of files, every number is accepted and no digit is lost: one that an
// int64 or float64 does not represent is a json.Number.
func ParseMessage(b []byte) (any, []diag.Finding) {
	p := parser{b: b, line: 1, message: true}
	v := p.document()
	if len(p.found) > 0 {
		return nil, p.found
	}
	return v, nil
}

type parser struct {
	b         []byte
	message   bool // see ParseMessage
	i         int
	line      int
	lineStart int
	pos       map[string]diag.Position // nil if positions are not kept
	found     []diag.Finding
	stopped   bool // after a syntax error the rest has no meaning
}

func (p *parser) document() any {
	if p.found = hidden.Encoding(p.b); len(p.found) > 0 {
		return nil
	}
	p.space()
	if p.i == len(p.b) {
		return p.stop(p.i, "the document is empty")
	}
	p.mark("", p.i)
	v := p.value("", 1)
	if p.space(); !p.stopped && p.i < len(p.b) {
		return p.stop(p.i, "unexpected %s after the value", p.here())
	}
	return v
}

func (p *parser) firstByte() int {
	i := 0
	for i < len(p.b) && isSpace(p.b[i]) {
		i++
	}
	return i
}

// at returns the position of an offset on the current or an earlier line.
func (p *parser) at(off int) diag.Position {
	if off >= p.lineStart {
		return diag.Position{Line: p.line, Column: off - p.lineStart + 1}
	}
	return hidden.Position(p.b, off)
}

func (p *parser) mark(path string, off int) {
	if p.pos != nil {
		p.pos[path] = p.at(off)
	}
}

func (p *parser) fail(off int, format string, args ...any) {
	at := p.at(off)
	p.found = append(p.found, diag.Errorf(
		diag.ParsingError,
		at.Line,
		at.Column,
		format,
		args...,
	))
}

// stop reports a syntax error and ends parsing.
func (p *parser) stop(off int, format string, args ...any) any {
	if !p.stopped {
		p.fail(off, format, args...)
		p.stopped = true
	}
	return nil
}

// maxDepth returns the deepest nesting of the document.
func (p *parser) maxDepth() int {
	if p.message {
		return MaxMessageDepth
	}
	return MaxDepth
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// space skips white space and counts lines: JSON has no line ends elsewhere.
func (p *parser) space() {
	for ; p.i < len(p.b) && isSpace(p.b[p.i]); p.i++ {
		if p.b[p.i] == '\n' {
			p.line++
			p.lineStart = p.i + 1
		}
	}
}

// here returns the current character for messages.
func (p *parser) here() string {
	if p.i >= len(p.b) {
		return "the end of the text"
	}
	return `"` + hidden.Visible(string(
		[]rune(string(
			p.b[p.i:min(len(p.b), p.i+4)],
		))[:1],
	)) + `"`
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
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
