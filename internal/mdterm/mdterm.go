// Package mdterm draws Markdown at a terminal: it returns styled lines that are wrapped
// at words. A text can arrive in pieces; each block is returned when it has ended, so
// that it is printed once.
//
// Every line of a text passes internal/hidden before it is parsed, and again after
// references such as &#27; were replaced: the escape sequences of a returned line are
// the sequences of this package. It writes nothing, and it has no colours for code.
package mdterm

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ryeos/rye/internal/hidden"
)

// Style is how a text is drawn. The zero value returns the lines of the Markdown itself.
type Style struct {
	Width int  // columns of a line; 0: lines are not wrapped
	Marks bool // bold, underlined and dim text; without it, the Markdown is left as it is
	Color bool // the colours of the terminal, in addition
}

// maxRows is the number of rows of a table that are held until their widths are known.
const maxRows = 50

// maxLive is the number of bytes of an unfinished block that Live draws.
const maxLive = 8 << 10

// kind is the kind of the held lines.
type kind int

const (
	nothing kind = iota
	paragraph
	item
	quote
	table
	indented
)

// Stream is a text that arrives in pieces.
type Stream struct {
	style Style
	part  string // a line whose end has not arrived

	held    []string // of an unfinished block, made visible
	kind    kind
	indent  int    // columns before the held block
	content int    // columns before the content of the list item that is open, 0 without one
	gap     bool   // a blank line came before the held block
	printed bool   // a line was returned
	fence   string // what ends the open fence, "" without one
	within  int    // columns before the open fence
	diff    bool   // the open fence has a difference of two files

	columns []column // of a table whose first rows were returned
}

// New returns a stream without text.
func New(style Style) *Stream {
	return &Stream{style: style}
}

// Resize draws what is not finished for a different width.
func (s *Stream) Resize(width int) {
	s.style.Width = width
}

// Add receives a piece of the text and returns the lines of the blocks that it ends.
func (s *Stream) Add(text string) []string {
	var out []string
	for {
		line, rest, ended := strings.Cut(text, "\n")
		s.part += line
		if !ended {
			return out
		}
		out = append(out, s.line(visible(s.part))...)
		s.part = ""
		text = rest
	}
}

// End returns the lines of the unfinished block. The stream is empty then.
func (s *Stream) End() []string {
	var out []string
	if s.part != "" {
		out = s.line(visible(s.part))
	}
	out = append(out, s.flush()...)
	*s = Stream{style: s.style}
	return out
}

// Live returns the lines of the unfinished block as they would be if it ended here.
func (s *Stream) Live() []string {
	c := *s
	c.held = append([]string(nil), s.held...)
	for size := 0; len(c.held) > 0; c.held = c.held[1:] {
		size = 0
		for _, l := range c.held {
			size += len(l)
		}
		if size <= maxLive || c.kind == table {
			break
		}
	}
	if n := len(c.part); n > maxLive {
		c.part = strings.ToValidUTF8(c.part[n-maxLive:], "")
	}
	return c.End()
}

// Empty reports whether no unfinished block is held.
func (s *Stream) Empty() bool {
	return s.part == "" && len(s.held) == 0
}

// visible makes the hidden characters of a line visible, and replaces tabs, which move the
// cursor by a number of columns that depends on its position.
func visible(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if !strings.Contains(line, "\t") {
		return hidden.Visible(line)
	}
	var out strings.Builder
	for i, part := range strings.Split(line, "\t") {
		if i > 0 {
			out.WriteString(strings.Repeat(" ", 4-ansi.StringWidth(out.String())%4))
		}
		out.WriteString(hidden.Visible(part))
	}
	return out.String()
}

// line receives a line and returns the lines of the block that it ends.
func (s *Stream) line(l string) []string {
	if !s.style.Marks {
		return s.source(l)
	}
	text := strings.TrimLeft(l, " ")
	indent := len(l) - len(text)
	switch {
	case s.fence != "":
		return s.inFence(l, text)
	case strings.TrimSpace(l) == "":
		out := s.flush()
		s.gap = s.gap || s.printed
		return out
	case opensFence(text) != "":
		out := append(s.flush(), s.gaps()...)
		s.fence = opensFence(text)
		s.within = indent
		s.leave(indent)
		s.diff = isDiff(text)
		return append(out, s.pad(indent)+s.dim(text))
	case s.kind == table && strings.Contains(l, "|"):
		s.held = append(s.held, l)
		if len(s.held) >= maxRows+2 {
			return s.flushTable()
		}
		return nil
	case s.kind == paragraph && len(s.held) == 1 && delimits(s.held[0], text):
		s.kind = table
		s.held = append(s.held, l)
		return nil
	case s.kind == paragraph && isUnderline(text):
		s.held = append(s.held, l)
		return s.flush()
	case isBreak(text) || isHeading(text):
		out := s.flush()
		s.leave(indent)
		s.begin(paragraph, l, 0)
		return append(out, s.flush()...)
	}
	marker := listMarker(text)
	if marker > 0 && !(s.kind == paragraph && s.content == 0 && isYear(text)) {
		out := s.flush()
		s.begin(item, l, indent)
		s.content = indent + marker
		return out
	}
	isQuote := strings.HasPrefix(text, ">")
	if isQuote != (s.kind == quote) &&
		(isQuote || len(s.held) > 0 && s.kind == quote) {
		out := s.flush()
		k := paragraph
		if isQuote {
			k = quote
		}
		s.leave(indent)
		s.begin(k, l, min(indent, s.content))
		return out
	}
	if len(s.held) > 0 &&
		(s.kind != indented || indent >= s.indent+4) &&
		s.kind != table {
		s.held = append(s.held, l)
		return nil
	}
	out := s.flush()
	s.leave(indent)
	if k := min(indent, s.content); indent-k >= 4 {
		s.begin(indented, l, k)
	} else {
		s.begin(paragraph, l, k)
	}
	return out
}

// source returns a line of Markdown as it is.
func (s *Stream) source(l string) []string {
	if l = strings.TrimRight(l, " "); s.style.Width == 0 {
		return []string{l}
	}
	text := strings.TrimLeft(l, " ")
	return s.wrapped(
		[]span{{text: text}},
		l[:len(l)-len(text)],
		l[:len(l)-len(text)],
	)
}

func (s *Stream) begin(k kind, l string, indent int) {
	s.kind = k
	s.held = append(s.held[:0], l)
	s.indent = indent
}

// leave ends the open list item before a line that is not indented as its content is.
func (s *Stream) leave(indent int) {
	if indent == 0 {
		s.content = 0
	}
}

// gaps returns the blank line before a block.
func (s *Stream) gaps() []string {
	gap := s.gap && s.printed
	s.gap = false
	s.printed = true
	if gap {
		return []string{""}
	}
	return nil
}

func (s *Stream) inFence(l, text string) []string {
	if closes(s.fence, text) {
		s.fence = ""
		return []string{s.pad(s.within) + s.dim(text)}
	}
	cut := 0
	for cut < s.within && cut < len(l) && l[cut] == ' ' {
		cut++
	}
	return []string{strings.TrimRight(
		s.pad(s.within)+s.code(l[cut:], s.diff),
		" ",
	)}
}

// code returns a line of code; a line of a difference has its colour.
func (s *Stream) code(l string, diff bool) string {
	switch {
	case diff && strings.HasPrefix(l, "+"):
		return s.paint(l, green)
	case diff && strings.HasPrefix(l, "-"):
		return s.paint(l, red)
	}
	return l
}

func (s *Stream) pad(columns int) string {
	return strings.Repeat(" ", columns)
}

// flush returns the lines of the held block.
func (s *Stream) flush() []string {
	if len(s.held) == 0 {
		s.columns = nil
		return nil
	}
	if s.kind == table {
		out := s.flushTable()
		s.held = nil
		s.kind = nothing
		s.columns = nil
		return out
	}
	out := s.gaps()
	lines := make([]string, len(s.held))
	for i, l := range s.held {
		cut := 0
		for cut < s.indent && cut < len(l) && l[cut] == ' ' {
			cut++
		}
		lines[i] = l[cut:]
	}
	if s.kind == indented {
		out = append(out, s.held...)
	} else {
		out = append(out, s.draw(
			strings.Join(lines, "\n")+"\n",
			s.pad(s.indent),
		)...)
	}
	s.held = nil
	s.kind = nothing
	s.columns = nil
	return out
}

// flushTable returns the rows of a table that are held. Its later rows have the columns of the
// first ones.
func (s *Stream) flushTable() []string {
	rows := s.held
	if s.columns != nil {
		rows = rows[2:]
	}
	if len(rows) == 0 {
		return nil
	}
	out := append(s.gaps(), s.drawTable(
		s.held,
		s.pad(s.indent),
	)...)
	s.held = s.held[:2] // the header is parsed with the later rows
	return out
}
