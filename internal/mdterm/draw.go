package mdterm

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ryeos/rye/internal/hidden"
)

// parse returns the tree of a block. Tables are parsed by the stream: goldmark/extension takes
// 1.6 ms before main. Definitions of references are not parsed: they would be
// text that a reader does not see.
func parse(source []byte) ast.Node {
	p := parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithEscapedSpace(),
	)
	return p.Parse(text.NewReader(source))
}

// draw returns the lines of a block of Markdown.
func (s *Stream) draw(source, prefix string) []string {
	d := &drawing{s: s, source: []byte(source)}
	d.blocks(parse(d.source), prefix, prefix)
	return d.out
}

// drawing draws the tree of one block.
type drawing struct {
	s      *Stream
	source []byte
	out    []string
}

// blocks draws the blocks within a node.
func (d *drawing) blocks(of ast.Node, first, rest string) {
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		if n != of.FirstChild() &&
			n.Kind() != ast.KindList &&
			n.PreviousSibling().Kind() != ast.KindHeading {
			d.add(rest)
		}
		d.block(n, first, rest)
		first = rest
	}
}

func (d *drawing) add(line string) {
	d.out = append(d.out, strings.TrimRight(line, " "))
}

func (d *drawing) block(n ast.Node, first, rest string) {
	s := d.s
	switch n := n.(type) {
	case *ast.Heading:
		style := s.with("", bold)
		if n.Level == 1 {
			style = s.with(style, underline)
		}
		d.out = append(d.out, s.wrapped(
			d.spans(n, style),
			first,
			rest,
		)...)
	case *ast.List:
		number := n.Start
		for it := n.FirstChild(); it != nil; it = it.NextSibling() {
			marker := "• "
			if n.IsOrdered() {
				marker = fmt.Sprintf("%d%c ", number, n.Marker)
				number++
			}
			if !it.HasChildren() {
				d.add(first + marker)
			}
			d.blocks(
				it,
				first+marker,
				rest+strings.Repeat(" ", len([]rune(marker))),
			)
			first = rest
		}
	case *ast.Blockquote:
		bar := s.dim("│") + " "
		d.blocks(n, first+bar, rest+bar)
	case *ast.ThematicBreak:
		d.add(
			first + s.dim(strings.Repeat("─", max(3, min(20, s.style.Width)))),
		)
	case *ast.HTMLBlock:
		d.html(n, first, rest)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		d.raw(n, first, rest)
	default:
		d.out = append(d.out, s.wrapped(
			d.spans(n, ""),
			first,
			rest,
		)...)
	}
}

// raw draws lines as they are. The lines of a block of code within another block have their
// fence, as the lines of a stream do.
func (d *drawing) raw(n ast.Node, first, rest string) {
	fence, isFence := n.(*ast.FencedCodeBlock)
	diff := false
	if isFence {
		info := ""
		if fence.Info != nil {
			info = string(fence.Info.Segment.Value(d.source))
		}
		diff = isDiff(info)
		d.add(first + d.s.dim("```"+info))
		first = rest
	}
	lines := n.Lines()
	for i := range lines.Len() {
		seg := lines.At(i)
		d.add(
			first + d.s.code(
				strings.TrimRight(string(seg.Value(d.source)), "\n"),
				diff,
			),
		)
		first = rest
	}
	if isFence {
		d.add(rest + d.s.dim("```"))
	}
}

// html draws the lines of HTML as text.
func (d *drawing) html(n *ast.HTMLBlock, first, rest string) {
	lines := n.Lines().Value(d.source)
	if n.HasClosure() {
		lines = append(
			lines[:len(lines):len(lines)],
			n.ClosureLine.Value(d.source)...,
		)
	}
	for l := range strings.Lines(string(lines)) {
		d.out = append(d.out, d.s.wrapped(
			[]span{{text: strings.TrimRight(l, "\n")}},
			first,
			rest,
		)...)
		first = rest
	}
}

// spans returns the text within a node.
func (d *drawing) spans(of ast.Node, styles string) []span {
	var out []span
	for n := of.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, d.inline(n, styles)...)
	}
	return out
}

func (d *drawing) inline(n ast.Node, styles string) []span {
	s := d.s
	switch n := n.(type) {
	case *ast.Text:
		value := string(n.Segment.Value(d.source))
		if !n.IsRaw() {
			value = resolved(value)
		}
		out := []span{{text: value, styles: styles}}
		switch {
		case n.HardLineBreak():
			out = append(out, span{ends: true})
		case n.SoftLineBreak():
			out = append(out, span{text: " ", styles: styles})
		}
		return out
	case *ast.String:
		return []span{{text: hidden.Visible(string(n.Value)), styles: styles}}
	case *ast.CodeSpan:
		var code strings.Builder
		for _, part := range d.spans(n, "") {
			code.WriteString(part.text)
		}
		return []span{{text: code.String(), styles: s.with(styles, cyan), solid: true}}
	case *ast.Emphasis:
		style := italic
		if n.Level == 2 {
			style = bold
		}
		return d.spans(n, s.with(styles, style))
	case *ast.Link:
		return d.link(
			d.spans(n, s.with(styles, underline)),
			string(n.Destination),
			string(n.Title),
			styles,
		)
	case *ast.Image:
		return d.link(
			d.spans(n, styles),
			string(n.Destination),
			string(n.Title),
			styles,
		)
	case *ast.AutoLink:
		return []span{{text: hidden.Visible(string(n.Label(d.source))), styles: s.with(styles, underline), solid: true}}
	case *ast.RawHTML:
		var raw strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			raw.Write(seg.Value(d.source))
		}
		return []span{{text: strings.ReplaceAll(raw.String(), "\n", " "), styles: styles}}
	}
	return d.spans(n, styles)
}

// link adds to the text of a link its address and title, if they are not the text: what a
// link leads to is not hidden.
func (d *drawing) link(label []span, address, title, styles string) []span {
	text := ""
	for _, sp := range label {
		text += sp.text
	}
	if address = resolved(address); address != "" && address != text {
		if text != "" {
			label = append(label, span{text: " "})
		}
		label = append(label, span{text: "(" + address + ")", styles: d.s.with(styles, dim), solid: true})
	}
	if title != "" {
		label = append(label, span{text: " \"" + resolved(title) + "\"", styles: styles})
	}
	return label
}

// resolved replaces escaped punctuation and references to characters, and makes visible the
// characters that they hid.
func resolved(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch end := strings.IndexByte(s[i:], ';'); {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			out.WriteByte(s[i])
		case s[i] == '&' && end > 0 && end < 40:
			ref := []byte(s[i : i+end+1])
			out.Write(util.ResolveEntityNames(util.ResolveNumericReferences(ref)))
			i += end
		default:
			out.WriteByte(s[i])
		}
	}
	return hidden.Visible(out.String())
}
