package yamlx

import (
	"bytes"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// node is what the values of a document are read from. It is smaller than the node of the
// module, which has fields for comments.
type node struct {
	Kind    yaml.Kind
	Style   yaml.Style
	Line    int32
	Column  int32
	Value   string
	Content []*node
	props   *properties // nil for most
}

// properties are refused, with the name that the text gives them.
type properties struct{ anchor, tag string }

// ofModule returns a node of the module with the nodes below it. What an alias refers to
// is not below it.
func ofModule(n *yaml.Node) *node {
	out := &node{Kind: n.Kind, Style: n.Style, Line: int32(n.Line), Column: int32(n.Column), Value: n.Value}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		out.props = &properties{n.Anchor, n.Tag}
	}
	for _, c := range n.Content {
		out.Content = append(out.Content, ofModule(c))
	}
	return out
}

// simple parses the YAML that items are mostly written in: block mappings and lists,
// values on one line, folded and literal text without blank lines. It returns the same
// tree as the module, in a tenth of the time, or nil for a text with anything else and
// for every text with an error: the module then decides.
func (p *simpleParser) simple(b []byte) *node {
	if bytes.IndexByte(b, '\t') >= 0 || bytes.IndexByte(b, '\r') >= 0 {
		return nil
	}
	p.lines = strings.Split(string(b), "\n")
	in, ok := p.peek()
	if !ok || in != 0 {
		return nil
	}
	n := p.block(0)
	if _, more := p.peek(); n == nil || more || n.Kind != yaml.MappingNode {
		return nil
	}
	return n
}

// simpleDepth is the depth from which the module decides.
const simpleDepth = 40

// simpleParser reads line by line. Its methods return nil if the text is not simple.
type simpleParser struct {
	lines []string
	at    int // the next line
	depth int
	nodes [][]node // allocated together
	used  int      // nodes
	stack []*node  // the parts of the collections that are being read
	parts []*node  // allocated together, for the parts of the next collections
}

// parsers keep their nodes for the next text: each page of the heap that a new process
// touches costs time.
var parsers = sync.Pool{New: func() any { return new(simpleParser) }}

// release ends the use of the nodes. A large text does not keep its memory.
func (p *simpleParser) release() {
	if p.used > 2000 {
		return
	}
	for i := range p.nodes {
		clear(p.nodes[i]) // they refer to the text
	}
	clear(p.stack[:cap(p.stack)])
	*p = simpleParser{nodes: p.nodes, stack: p.stack[:0]}
	parsers.Put(p)
}

// collect returns the parts that were pushed since the stack had a length.
func (p *simpleParser) collect(from int) []*node {
	n := len(p.stack) - from
	if n > len(p.parts) {
		p.parts = make([]*node, max(n, 64))
	}
	out := p.parts[:n:n]
	p.parts = p.parts[n:]
	copy(out, p.stack[from:])
	p.stack = p.stack[:from]
	return out
}

// peek moves to the next line with content and returns its indent.
func (p *simpleParser) peek() (indent int, ok bool) {
	for ; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		n := len(l) - len(strings.TrimLeft(l, " "))
		if n < len(l) && l[n] != '#' {
			return n, true
		}
	}
	return 0, false
}

// node returns a node at a column, from 0, of the current line.
func (p *simpleParser) node(kind yaml.Kind, style yaml.Style, col int) *node {
	const slab = 64
	if p.used == slab*len(p.nodes) {
		p.nodes = append(p.nodes, make([]node, slab))
	}
	n := &p.nodes[p.used/slab][p.used%slab]
	p.used++
	*n = node{Kind: kind, Style: style, Line: int32(p.at + 1), Column: int32(col + 1)}
	return n
}

// block parses the mapping or list whose first line is the current one.
func (p *simpleParser) block(indent int) *node {
	if p.depth++; p.depth > simpleDepth {
		return nil
	}
	defer func() { p.depth-- }()
	if !isEntry(p.lines[p.at][indent:]) {
		return p.mapping(indent)
	}
	out, from := p.node(yaml.SequenceNode, 0, indent), len(p.stack)
	for {
		in, ok := p.peek()
		if !ok || in < indent {
			out.Content = p.collect(from)
			return out
		}
		l := p.lines[p.at]
		if in > indent || !isEntry(l[in:]) {
			return nil
		}
		col := in + 1 + len(l[in+1:]) - len(strings.TrimLeft(l[in+1:], " "))
		if col == len(l) || l[col] == '#' || isEntry(l[col:]) {
			return nil
		}
		var c *node
		if key, _ := p.key(l, col); key != nil {
			c = p.mapping(col)
		} else {
			c = p.value(l, col, indent)
		}
		if c == nil {
			return nil
		}
		p.stack = append(p.stack, c)
	}
}

// isEntry reports whether a text begins with the dash of a list.
func isEntry(s string) bool { return s == "-" || strings.HasPrefix(s, "- ") }

// mapping parses a block mapping whose first key is at a column of the current line.
func (p *simpleParser) mapping(col int) *node {
	out, from := p.node(yaml.MappingNode, 0, col), len(p.stack)
	for first := true; ; first = false {
		in, ok := p.peek()
		if !first && (!ok || in < col) {
			out.Content = p.collect(from)
			return out
		}
		l := p.lines[p.at]
		if !first && in > col || len(l) <= col {
			return nil
		}
		key, end := p.key(l, col)
		if key == nil {
			return nil
		}
		at := end + len(l[end:]) - len(strings.TrimLeft(l[end:], " "))
		var v *node
		if at == len(l) || l[at] == '#' {
			p.at++
			if in, ok := p.peek(); ok && in > col {
				v = p.block(in)
			}
		} else {
			v = p.value(l, at, col)
		}
		if v == nil {
			return nil
		}
		p.stack = append(p.stack, key, v)
	}
}

// key parses a key and its colon. end is the offset after the colon.
func (p *simpleParser) key(l string, col int) (key *node, end int) {
	if key, end = p.quotedScalar(l, col); key == nil {
		end = col
		for end < len(l) && keyChar(l[end]) {
			end++
		}
		if end == col || l[col] == '-' || l[col] == '.' {
			return nil, 0
		}
		key = p.node(yaml.ScalarNode, 0, col)
		key.Value = l[col:end]
	}
	if end >= len(l) || l[end] != ':' || end+1 < len(l) && l[end+1] != ' ' {
		return nil, 0
	}
	return key, end + 1
}

func keyChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_$./-", c) >= 0
}

// value parses a value that begins on the current line, in a mapping or list with that
// indent, and moves behind it.
func (p *simpleParser) value(l string, col, indent int) *node {
	if rest := l[col:]; rest == ">-" || rest == "|" || rest == "|-" {
		return p.text(rest, col, indent)
	}
	n, end := p.flow(l, col, 0)
	if n == nil {
		return nil
	}
	rest := strings.TrimLeft(l[end:], " ")
	if rest != "" && (rest[0] != '#' || len(rest) == len(l)-end) {
		return nil
	}
	p.at++
	if in, ok := p.peek(); ok && in > indent {
		return nil // it goes on there
	}
	return n
}

// text parses folded (>-) or literal (|, |-) text.
func (p *simpleParser) text(style string, col, indent int) *node {
	n := p.node(yaml.ScalarNode, yaml.FoldedStyle, col)
	var lines []string
	depth := 0
	for p.at++; p.at < len(p.lines); p.at++ {
		l := p.lines[p.at]
		in := len(l) - len(strings.TrimLeft(l, " "))
		if in == len(l) || in <= indent {
			break
		}
		if depth == 0 {
			depth = in
		}
		if in != depth || strings.HasSuffix(l, " ") || !plainASCII(l) {
			return nil
		}
		lines = append(lines, l[in:])
	}
	for at := p.at; at < len(p.lines); at++ { // a blank line may belong to the text
		if l := strings.TrimLeft(p.lines[at], " "); l != "" {
			if in := len(p.lines[at]) - len(l); in > indent {
				return nil
			}
			break
		} else if p.lines[at] != "" {
			return nil
		}
	}
	if len(lines) == 0 || p.at == len(p.lines) { // no text, or no line end after it
		return nil
	}
	if n.Value = strings.Join(lines, " "); style[0] == '|' {
		n.Style, n.Value = yaml.LiteralStyle, strings.Join(lines, "\n")
	}
	if style == "|" {
		n.Value += "\n"
	}
	return n
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// flow parses a scalar or a flow collection on one line. depth counts brackets.
func (p *simpleParser) flow(l string, col, depth int) (n *node, end int) {
	switch {
	case col >= len(l) || depth > simpleDepth:
		return nil, 0
	case l[col] == '[' || l[col] == '{':
		return p.collection(l, col, depth)
	case l[col] == '"' || l[col] == '\'':
		return p.quotedScalar(l, col)
	}
	return p.plainScalar(l, col, depth > 0)
}

// quotedScalar parses a quoted text on one line. Of the escapes it reads those of quotes and of
// the backslash.
func (p *simpleParser) quotedScalar(l string, col int) (n *node, end int) {
	if col >= len(l) || l[col] != '"' && l[col] != '\'' {
		return nil, 0
	}
	quote, escaped := l[col], false
	i := col + 1
	for ; ; i++ {
		if i >= len(l) {
			return nil, 0
		}
		c, next := l[i], byte(0)
		if i+1 < len(l) {
			next = l[i+1]
		}
		switch {
		case c == '\'' && quote == '\'' && next == '\'':
		case c == '\\' && quote == '"' && (next == '"' || next == '\\'):
		case c == '\\' && quote == '"':
			return nil, 0
		case c == quote:
			return p.quoted(l, col, i, escaped)
		default:
			continue
		}
		escaped = true
		i++
	}
}

// quoted returns the text between two quotes.
func (p *simpleParser) quoted(l string, col, to int, escaped bool) (n *node, end int) {
	text, quote, style := l[col+1:to], l[col], yaml.SingleQuotedStyle
	if end = to + 1; !plainASCII(text) || end < len(l) && l[end] == quote {
		return nil, 0
	}
	if quote == '"' {
		style = yaml.DoubleQuotedStyle
	}
	if escaped {
		b := make([]byte, 0, len(text))
		for i := 0; i < len(text); i++ {
			if quote == '"' && text[i] == '\\' || quote == '\'' && text[i] == '\'' {
				i++ // the first of the two
			}
			b = append(b, text[i])
		}
		text = string(b)
	}
	n = p.node(yaml.ScalarNode, style, col)
	n.Value = text
	return n, end
}

// plainScalar parses a text without quotes, up to a comment, the end of the line, or in
// brackets a character that ends it.
func (p *simpleParser) plainScalar(l string, col int, inside bool) (n *node, end int) {
	if strings.IndexByte("-?:,[]{}#&*!|>'\"%@`=<", l[col]) >= 0 {
		return nil, 0
	}
	for end = col; end < len(l); end++ {
		c := l[end]
		if c == '#' && l[end-1] == ' ' || inside && strings.IndexByte(",]}", c) >= 0 {
			break
		}
		if c < ' ' || c > '~' || inside && strings.IndexByte("[{?", c) >= 0 {
			return nil, 0
		}
		if c == ':' && (end+1 == len(l) || !keyChar(l[end+1])) {
			return nil, 0
		}
	}
	n = p.node(yaml.ScalarNode, 0, col)
	n.Value = strings.TrimRight(l[col:end], " ")
	if inside {
		end = col + len(n.Value)
	}
	if strings.HasPrefix(n.Value, "...") {
		return nil, 0
	}
	return n, end - (end - col - len(n.Value))
}

// collection parses a flow list or mapping that ends on the same line.
func (p *simpleParser) collection(l string, col, depth int) (n *node, end int) {
	kind, closing := yaml.SequenceNode, byte(']')
	if l[col] == '{' {
		kind, closing = yaml.MappingNode, '}'
	}
	n = p.node(kind, yaml.FlowStyle, col)
	from := len(p.stack)
	skip := func(i int) int { return i + len(l[i:]) - len(strings.TrimLeft(l[i:], " ")) }
	at := skip(col + 1)
	if at < len(l) && l[at] == closing {
		return n, at + 1
	}
	for {
		if kind == yaml.MappingNode {
			key, end := p.key(l, at)
			if key == nil {
				return nil, 0
			}
			p.stack = append(p.stack, key)
			at = skip(end)
		}
		v, end := p.flow(l, at, depth+1)
		if v == nil {
			return nil, 0
		}
		p.stack = append(p.stack, v)
		at = skip(end)
		switch {
		case at >= len(l):
			return nil, 0
		case l[at] == closing:
			n.Content = p.collect(from)
			return n, at + 1
		case l[at] != ',' || at+1 >= len(l) || l[at+1] != ' ':
			return nil, 0
		}
		at = skip(at + 1)
	}
}
