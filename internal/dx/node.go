package dx

import (
	"strings"
)

// node is an element, or text when tag is empty.
type node struct {
	tag      string
	attrs    []attr
	children []*node
	text     string // of text nodes; for opaque elements the inner source
	off, end int    // the whole element in the source
	in, out  int    // the content between its tags
}

type attr struct {
	name, value string
	off         int // of the value
}

// repair is a position at which the source is not well-formed; msg states how it
// was parsed.
type repair struct {
	off int
	msg string
}

// fault is an error that ends parsing.
type fault struct {
	off int
	msg string
}

// elements returns the children that are elements.
func (n *node) elements() []*node {
	var out []*node
	for _, c := range n.children {
		if c.tag != "" {
			out = append(out, c)
		}
	}
	return out
}

// ownText returns the text directly inside n, without surrounding blanks.
func (n *node) ownText() string {
	if n.tag != "" && len(n.children) == 0 {
		return strings.TrimSpace(n.text)
	}
	var b strings.Builder
	for _, c := range n.children {
		if c.tag == "" {
			b.WriteString(c.text)
		}
	}
	return strings.TrimSpace(b.String())
}

// add appends a child; text joins the text before it.
func (n *node) add(c *node) {
	k := len(n.children)
	if c.tag == "" && k > 0 && n.children[k-1].tag == "" {
		n.children[k-1].text += c.text
		n.children[k-1].end = c.end
		return
	}
	n.children = append(n.children, c)
}

// allText returns the text of n and everything inside it.
func (n *node) allText() string {
	var b strings.Builder
	n.writeText(&b)
	return strings.TrimSpace(b.String())
}

func (n *node) writeText(b *strings.Builder) {
	b.WriteString(n.text)
	for _, c := range n.children {
		c.writeText(b)
	}
}
