// Package markdown renders Markdown of authors and models as HTML for pages of rye-server, with a fixed
// set of elements, which loads nothing.
//
// Raw HTML is shown as text, an image is its text, and a link leads to a web or mail address that the
// reader sees. It has no colours for code, and terminals have package mdterm.
package markdown

import (
	"html"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ryeos/rye/internal/hidden"
)

// Options are choices of a page.
type Options struct {
	HeadingsBelow int  // levels of headings that the page itself has
	WholeAddress  bool // a link is followed by its address, not by its host alone
}

// Limits of rendering. What exceeds them is shown as text.
const (
	maxDepth   = 24  // elements in each other
	maxNesting = 100 // marks of quotes and lists at the beginning of a line
)

// goldmarkParser returns the parser. It is made by the first page that needs it.
var goldmarkParser = sync.OnceValue(func() parser.Parser {
	return goldmark.New(goldmark.WithExtensions(
		extension.Table,
		extension.Strikethrough,
	)).Parser()
})

// HTML renders a text. Every character of it that is not markup is escaped, and characters that a reader
// cannot see are made visible.
func HTML(source string, o Options) template.HTML {
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = limitNesting(visible(line))
	}
	src := []byte(strings.Join(lines, "\n"))
	root := goldmarkParser().Parse(text.NewReader(src))
	r := &renderer{src: src, o: o}
	r.children(root)
	return template.HTML(r.out.String())
}

// visible makes hidden characters of a line visible. Tabs are markup.
func visible(line string) string {
	parts := strings.Split(line, "\t")
	for i, p := range parts {
		parts[i] = hidden.Visible(p)
	}
	return strings.Join(parts, "\t")
}

// limitNesting escapes the first mark of a line with more marks of quotes and lists than a text has: the
// parser needs time for each of them in each line.
func limitNesting(line string) string {
	marks := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '>', '-', '*', '+':
			marks++
		case ' ', '\t':
		default:
			return line
		}
		if marks > maxNesting {
			return `\` + strings.TrimLeft(line, " \t")
		}
	}
	return line
}

type renderer struct {
	src   []byte
	o     Options
	out   strings.Builder
	depth int
}

func (r *renderer) text(s string) {
	r.out.WriteString(html.EscapeString(s))
}

func (r *renderer) children(n ast.Node) {
	r.depth++
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		r.node(c)
	}
	r.depth--
}

// element writes an element with the children of a node.
func (r *renderer) element(name string, n ast.Node) {
	if r.depth > maxDepth { // browsers stop at a few hundred elements in each other
		r.children(n)
		return
	}
	r.out.WriteString("<" + name + ">")
	r.children(n)
	r.out.WriteString("</" + name + ">")
}

// block is element with the end of a line.
func (r *renderer) block(name string, n ast.Node) {
	r.element(name, n)
	r.out.WriteByte('\n')
}

// parent is block for an element that has other blocks in it.
func (r *renderer) parent(name string, n ast.Node) {
	if r.depth > maxDepth {
		r.children(n)
		return
	}
	r.out.WriteString("<" + name + ">\n")
	r.children(n)
	r.out.WriteString("</" + name + ">\n")
}

func (r *renderer) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		r.block("h"+strconv.Itoa(min(n.Level+r.o.HeadingsBelow, 6)), n)
	case *ast.Paragraph:
		r.block("p", n)
	case *ast.TextBlock:
		// A list without blank lines has texts and no paragraphs.
		r.children(n)
		if n.NextSibling() != nil {
			r.out.WriteByte('\n')
		}
	case *ast.ThematicBreak:
		r.out.WriteString("<hr>\n")
	case *ast.Blockquote:
		r.parent("blockquote", n)
	case *ast.List:
		name := "ul"
		if n.IsOrdered() {
			name = "ol"
		}
		r.parent(name, n)
	case *ast.ListItem:
		r.block("li", n)
	case *ast.FencedCodeBlock:
		r.code(n)
	case *ast.CodeBlock:
		r.code(n)
	case *ast.HTMLBlock:
		r.rawHTML(n)
	case *east.Table:
		r.table(n)
	default:
		r.inline(n)
	}
}

func (r *renderer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		// References such as &#8238; are replaced after the text was made visible.
		s := unescape(string(n.Segment.Value(r.src)))
		r.text(hidden.Visible(s))
		switch {
		case n.HardLineBreak():
			r.out.WriteString("<br>\n")
		case n.SoftLineBreak():
			r.out.WriteByte('\n')
		}
	case *ast.String:
		r.text(hidden.Visible(string(n.Value)))
	case *ast.CodeSpan:
		// Backslashes and references are characters here.
		r.out.WriteString("<code>")
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				r.text(strings.ReplaceAll(string(t.Segment.Value(r.src)), "\n", " "))
			}
		}
		r.out.WriteString("</code>")
	case *ast.Emphasis:
		name := "em"
		if n.Level == 2 {
			name = "strong"
		}
		r.element(name, n)
	case *east.Strikethrough:
		r.element("del", n)
	case *ast.Link:
		r.link(n, string(n.Destination))
	case *ast.AutoLink:
		r.autoLink(n)
	case *ast.Image:
		// The address of an image would be read from its host.
		r.out.WriteString("[image: ")
		r.children(n)
		r.out.WriteString("]")
	case *ast.RawHTML:
		// A reader sees what its author wrote.
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			r.text(string(at.Value(r.src)))
		}
	default:
		r.children(n)
	}
}

// unescape replaces the backslashes and the references of a text.
func unescape(s string) string {
	plain := util.UnescapePunctuations([]byte(s))
	return html.UnescapeString(string(plain))
}

// code writes the lines of a block of code.
func (r *renderer) code(n ast.Node) {
	r.out.WriteString("<pre>")
	r.lines(n.Lines())
	r.out.WriteString("</pre>\n")
}

func (r *renderer) lines(lines *text.Segments) {
	for i := range lines.Len() {
		at := lines.At(i)
		r.text(string(at.Value(r.src)))
	}
}

// rawHTML shows a block of HTML as text. A comment of one line with a signature, which is verified and
// not read, is removed by the caller.
func (r *renderer) rawHTML(n *ast.HTMLBlock) {
	r.out.WriteString("<p>")
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(r.src))
	}
	if n.HasClosure() {
		closure := n.ClosureLine
		b.Write(closure.Value(r.src))
	}
	r.text(strings.TrimRight(b.String(), "\n"))
	r.out.WriteString("</p>\n")
}

func (r *renderer) table(n *east.Table) {
	r.out.WriteString("<table>\n")
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, head := row.(*east.TableHeader)
		cell := "td"
		if head {
			cell = "th"
		}
		// A header is a row whose cells are names.
		r.out.WriteString("<tr>")
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			r.element(cell, c)
		}
		r.out.WriteString("</tr>\n")
	}
	r.out.WriteString("</table>\n")
}

// link writes a link and the address that it leads to. A link to anything but a web or mail address is
// its text.
func (r *renderer) link(n ast.Node, address string) {
	u := webAddress(address)
	// A link in a link would show an address that it does not lead to.
	if u == nil || containsLink(n) {
		r.children(n)
		return
	}
	r.open(u)
	r.children(n)
	r.out.WriteString("</a>")
	shown := u.Host
	if r.o.WholeAddress || u.Host == "" {
		shown = u.String()
	}
	r.text(" (" + shown + ")")
}

func (r *renderer) autoLink(n *ast.AutoLink) {
	label := string(n.Label(r.src))
	address := label
	if n.AutoLinkType == ast.AutoLinkEmail {
		address = "mailto:" + label
	}
	u := webAddress(address)
	if u == nil {
		r.text("<" + label + ">")
		return
	}
	r.open(u)
	r.text(label)
	r.out.WriteString("</a>")
}

func (r *renderer) open(u *url.URL) {
	r.out.WriteString(`<a href="` + html.EscapeString(u.String()) + `" rel="nofollow noopener noreferrer">`)
}

// containsLink reports whether a node has an image or a link in it: its text would name another address.
func containsLink(n ast.Node) bool {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c.(type) {
		case *ast.Link, *ast.AutoLink, *ast.Image:
			return true
		}
		if containsLink(c) {
			return true
		}
	}
	return false
}

// maxAddress is the number of bytes of the address of a link.
const maxAddress = 1000

// webAddress returns an address that a link may lead to, or nil.
func webAddress(address string) *url.URL {
	if len(address) > maxAddress || hidden.Visible(address) != address {
		return nil
	}
	// A user in an address looks like its host.
	u, err := url.Parse(strings.ReplaceAll(address, `"`, "%22"))
	switch {
	case err != nil || u.User != nil:
		return nil
	case u.Scheme == "https" || u.Scheme == "http":
		if u.Host == "" {
			return nil
		}
	case u.Scheme != "mailto":
		return nil
	}
	return u
}
