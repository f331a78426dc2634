package yamlx

import (
	"bytes"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ryeos/rye/diag"
)

// Node is a value with its position in the text, for code that edits the text.
type Node struct {
	Start, End int     // offsets of the first byte and after the last; equal for an empty value
	Flow       bool    // written in [] or {}
	Quote      byte    // ' or " of a quoted scalar, | or > of a block scalar, else 0
	Text       string  // of a scalar
	Entries    []Entry // of a mapping, in the order of the text
	Items      []*Node // of a list
	Kind       NodeKind
}

// NodeKind is the kind of a Node.
type NodeKind int

// The kinds of nodes.
const (
	ScalarNode NodeKind = iota
	MappingNode
	ListNode
)

// Entry is one key of a mapping and its value.
type Entry struct{ Key, Value *Node }

// Find returns the entry with a key, or nil.
func (n *Node) Find(key string) *Entry {
	for i := range n.Entries {
		if n.Entries[i].Key.Text == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// Outline returns the offsets of every value of a document. The Node is nil
// exactly when a finding is an error. It accepts what Parse accepts.
func Outline(b []byte) (*Node, []diag.Finding) {
	if _, found := Parse(b); diag.Failed(found) {
		return nil, found
	}
	n, err := decode(yaml.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil, []diag.Finding{diag.Errorf(diag.ParsingError, 1, 1, "%s", err)}
	}
	o := outliner{reader{b: b, ascii: isASCII(b)}}
	return o.node(n.Content[0], 0), nil
}

type outliner struct{ reader }

// node returns a node with its offsets; indent is the column, from 0, of the
// mapping or list around it, -1 for none.
func (o *outliner) node(n *yaml.Node, indent int) *Node {
	start := o.offset(n.Line, n.Column)
	out := &Node{Start: start, End: start, Flow: n.Style&yaml.FlowStyle != 0}
	switch n.Kind {
	case yaml.MappingNode:
		out.Kind = MappingNode
		for i := 0; i+1 < len(n.Content); i += 2 {
			e := Entry{Key: o.node(n.Content[i], indent)}
			e.Value = o.node(n.Content[i+1], n.Column-1)
			o.empty(&e)
			out.Entries = append(out.Entries, e)
			out.End = max(out.End, e.Value.End)
		}
	case yaml.SequenceNode:
		out.Kind = ListNode
		for _, c := range n.Content {
			out.Items = append(out.Items, o.node(c, n.Column-1))
			out.End = max(out.End, out.Items[len(out.Items)-1].End)
		}
	default:
		out.Text = n.Value
		o.scalarEnd(n, out, indent)
	}
	if out.Flow {
		out.End = o.closing(max(out.End, start+1))
	}
	return out
}

// empty sets the offsets of a value that is not written: after the colon of its
// key.
func (o *outliner) empty(e *Entry) {
	if e.Value.Kind != ScalarNode ||
		e.Value.Text != "" ||
		e.Value.Quote != 0 {
		return
	}
	at := e.Key.End
	i := bytes.IndexByte(o.b[at:], ':')
	if i >= 0 && len(bytes.TrimSpace(o.b[at:at+i])) == 0 {
		at += i + 1
	}
	e.Value.Start = at
	e.Value.End = at
}

func (o *outliner) scalarEnd(n *yaml.Node, out *Node, indent int) {
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		out.Quote = '"'
		out.End = o.quotedEnd(out.Start, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		out.Quote = '\''
		out.End = o.quotedEnd(out.Start, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		out.Quote = o.b[out.Start]
		out.End = o.blockEnd(out.Start, indent)
	default:
		out.End = o.plainEnd(out.Start, n.Value)
	}
}

func (o *outliner) quotedEnd(at int, quote byte) int {
	for i := at + 1; i < len(o.b); i++ {
		switch {
		case o.b[i] == '\\' && quote == '"':
			i++
		case o.b[i] != quote:
		case quote == '\'' && i+1 < len(o.b) && o.b[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(o.b)
}

// plainEnd returns the end of unquoted text. Text over several lines differs
// from its value in the white space between words only.
func (o *outliner) plainEnd(at int, value string) int {
	end := at
	for _, c := range []byte(strings.Join(strings.Fields(value), "")) {
		for at < len(o.b) && strings.IndexByte(" \t\r\n", o.b[at]) >= 0 {
			at++
		}
		if at == len(o.b) || o.b[at] != c {
			return end
		}
		at++
		end = at
	}
	return end
}

// blockEnd returns the end of the last line of a block scalar that is not blank.
func (o *outliner) blockEnd(at, indent int) int {
	end := lineEnd(o.b, at)
	for next := end + 1; next < len(o.b); {
		stop := lineEnd(o.b, next)
		line := o.b[next:stop]
		text := bytes.TrimSpace(line)
		depth := len(line) - len(bytes.TrimLeft(line, " "))
		if len(text) > 0 && depth <= indent {
			break
		}
		if len(text) > 0 {
			end = stop
		}
		next = stop + 1
	}
	return end
}

func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b)
}

// closing returns the offset after the bracket that closes a flow value, from the
// end of its last part: only white space, comments and one comma are between.
func (o *outliner) closing(at int) int {
	for at < len(o.b) {
		switch c := o.b[at]; {
		case c == '#' && strings.IndexByte(" \t\n[{,", o.b[at-1]) >= 0:
			at = lineEnd(o.b, at)
		case c == ']' || c == '}':
			return at + 1
		default:
			at++
		}
	}
	return at
}

// Scalar writes text on one line so that Parse reads it back, in quotes of the
// given kind (' or "), or with 0 in quotes only where it must be.
func Scalar(s string, quote byte) string {
	var w writer
	out := w.text(s)
	switch {
	case quote == 0 || out[0] == '"' && len(out) != len(s)+2:
	case quote == '\'' && !strings.ContainsRune(s, '\''):
		return "'" + strings.Trim(out, `"`) + "'"
	case out[0] != '"':
		return `"` + out + `"`
	}
	return out
}
