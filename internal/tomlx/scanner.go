package tomlx

import (
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
)

// scanner finds the positions of keys, and keys that are given twice. The
// module's decoder reports every other error.
type scanner struct {
	b      []byte
	pos    map[string]diag.Position
	lines  map[string]int // tables and values by path, for duplicates
	tables map[string]int // arrays of tables by path, with their length
	at     counter
	found  []diag.Finding

	keys    int  // number of keys with a position
	stopped bool // a path is too long, or there are too many keys
}

// counter remembers the last position, so that the positions of all keys are
// found in one pass.
type counter struct{ off, line, lineStart int }

func (p *scanner) position(off int) diag.Position {
	c := &p.at
	if c.line == 0 || off < c.off {
		pos := hidden.Position(p.b, off)
		*c = counter{off, pos.Line, off - pos.Column + 1}
		return pos
	}
	for ; c.off < off; c.off++ {
		if p.b[c.off] == '\n' {
			c.line = c.line + 1
			c.lineStart = c.off + 1
		}
	}
	return diag.Position{Line: c.line, Column: off - c.lineStart + 1}
}

func (p *scanner) read() {
	defer func() { _ = recover() }() // the decoder reports the damage
	var parser unstable.Parser
	parser.Reset(p.b)
	p.pos[""] = diag.Position{Line: 1, Column: 1}
	table := ""
	for !p.stopped && parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table:
			table = p.header(e.Key())
			p.once(table, "[", "table")
		case unstable.ArrayTable:
			table = p.header(e.Key())
			n := p.tables[table]
			p.tables[table] = n + 1
			at := p.pos[table]
			table = tree.Index(table, n)
			p.pos[table] = at
		case unstable.KeyValue:
			p.keyValue(e, table)
		}
	}
}

// header returns the path of a table. A name below an array of tables refers to
// the last one.
func (p *scanner) header(keys unstable.Iterator) string {
	path := ""
	for !p.stopped && keys.Next() {
		if n := p.tables[path]; n > 0 {
			path = tree.Index(path, n-1)
		}
		path = p.key(path, keys.Node())
	}
	return path
}

// key appends one key and records its position, unless it has one: the header of
// a child table repeats the names of its parents.
func (p *scanner) key(path string, n *unstable.Node) string {
	at := p.position(int(n.Raw.Offset))
	if len(path)+len(n.Data) >= MaxPath {
		p.stopped = true
		p.found = append(p.found, diag.Errorf(
			diag.ParsingError,
			at.Line,
			at.Column,
			"the keys down to here have more than %d bytes",
			MaxPath,
		))
		return path
	}
	path = tree.Join(path, string(n.Data))
	if _, ok := p.pos[path]; !ok {
		p.pos[path] = at
		p.keys++
	}
	if p.keys > MaxKeys {
		p.stopped = true
		p.found = append(p.found, diag.Errorf(
			diag.TooLarge,
			at.Line,
			at.Column,
			"it has more than %d keys",
			MaxKeys,
		))
	}
	return path
}

// once reports a second table or key of a path.
func (p *scanner) once(path, mark, what string) {
	line := p.at.line
	if first, twice := p.lines[mark+path]; twice {
		at := diag.Position{Line: line, Column: p.at.off - p.at.lineStart + 1}
		p.found = append(p.found, diag.Errorf(
			diag.ParsingError,
			at.Line,
			at.Column,
			"duplicate %s %q, first given in line %d",
			what,
			path,
			first,
		))
		return
	}
	p.lines[mark+path] = line
}

func (p *scanner) keyValue(e *unstable.Node, path string) {
	for keys := e.Key(); !p.stopped && keys.Next(); {
		path = p.key(path, keys.Node())
	}
	if p.stopped {
		return
	}
	p.once(path, "=", "key")
	p.value(e.Value(), path)
}

func (p *scanner) value(v *unstable.Node, path string) {
	if len(path) > MaxPath {
		return // arrays nested past any allowed depth
	}
	switch v.Kind {
	case unstable.InlineTable:
		for c := v.Children(); c.Next(); {
			if c.Node().Kind == unstable.KeyValue {
				p.keyValue(c.Node(), path)
			}
		}
	case unstable.Array:
		i := 0
		for c := v.Children(); c.Next(); {
			if n := c.Node(); n.Kind != unstable.Comment {
				sub := tree.Index(path, i)
				if n.Raw.Length > 0 {
					p.pos[sub] = p.position(int(n.Raw.Offset))
				}
				p.value(n, sub)
				i++
			}
		}
	}
}
