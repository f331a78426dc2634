package edit

import (
	"bytes"
	"strings"

	"github.com/ryeos/rye/internal/yamlx"
)

// splice replaces a part of a text.
type splice struct {
	start, end int
	text       string
	bad        bool // the edit is not possible without changing other parts
}

func (s splice) apply(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(s.text))
	out = append(out, b[:s.start]...)
	out = append(out, s.text...)
	return append(out, b[s.end:]...)
}

// part is one entry of a mapping or one element of a list.
type part struct{ start, end int }

func parts(n *yamlx.Node) []part {
	var out []part
	for _, x := range n.Entries {
		out = append(out, part{x.Key.Start, max(x.Key.End, x.Value.End)})
	}
	for _, x := range n.Items {
		out = append(out, part{x.Start, x.End})
	}
	return out
}

// addPart inserts a part at index i of a mapping or list that is not an empty
// block.
func addPart(b []byte, n *yamlx.Node, i int, text string) splice {
	all := parts(n)
	switch {
	case !n.Flow && i == 0:
		return splice{bad: true}
	case !n.Flow && n.Kind == yamlx.ListNode:
		return newLine(
			b,
			all[i-1].end,
			dash(b, all[i-1].start)+text,
		)
	case !n.Flow:
		return newLine(
			b,
			all[i-1].end,
			indentOf(b, all[i-1].start)+text,
		)
	case len(all) == 0:
		return splice{start: n.Start + 1, end: n.Start + 1, text: text}
	case i < len(all):
		return splice{start: all[i].start, end: all[i].start, text: text + ", "}
	}
	at := all[len(all)-1].end
	if comma := commaAfter(b, at); comma > 0 {
		return splice{start: comma, end: comma, text: " " + text}
	}
	return splice{start: at, end: at, text: ", " + text}
}

// removePart removes part i: whole lines of a block, text and comma of a flow
// value.
func removePart(b []byte, n *yamlx.Node, i int) splice {
	all := parts(n)
	if !n.Flow {
		return removeLines(b, all[i], n.Kind == yamlx.ListNode)
	}
	start := all[i].start
	end := all[i].end
	if comma := commaAfter(b, end); comma > 0 {
		end = comma + len(b[comma:]) - len(bytes.TrimLeft(b[comma:], " \t"))
		return splice{start: start, end: end}
	}
	if i > 0 &&
		strings.Trim(string(b[all[i-1].end:start]), " \t\r\n") == "," {
		start = all[i-1].end
	}
	return splice{start: start, end: end}
}

// commaAfter returns the offset after a comma that follows in the same line,
// or 0.
func commaAfter(b []byte, at int) int {
	for ; at < len(b) && (b[at] == ' ' || b[at] == '\t'); at++ {
	}
	if at < len(b) && b[at] == ',' {
		return at + 1
	}
	return 0
}

// removeLines removes the lines of a part, if they contain nothing else.
func removeLines(b []byte, p part, list bool) splice {
	start := lineStart(b, p.start)
	lead := strings.TrimLeft(string(b[start:p.start]), " ")
	if list {
		lead = strings.TrimLeft(strings.TrimPrefix(lead, "-"), " ")
	}
	end := lineEnd(b, p.end)
	switch {
	case lead != "":
		return splice{bad: true}
	case end < len(b):
		end++
	case start > 0:
		start-- // the last line has no line end: remove the end of the line before
		if start > 0 && b[start-1] == '\r' {
			start--
		}
	}
	return splice{start: start, end: end}
}

// newLine inserts a line after the one that contains an offset.
func newLine(b []byte, at int, text string) splice {
	end := lineEnd(b, at)
	eol := eolAt(b, at)
	if end > 0 && b[end-1] == '\r' {
		end--
	}
	return splice{start: end, end: end, text: eol + text}
}

func lineStart(b []byte, at int) int {
	return bytes.LastIndexByte(b[:at], '\n') + 1
}

func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b)
}

// eolAt returns the line end of the line at an offset, or of the one before it.
func eolAt(b []byte, at int) string {
	end := lineEnd(b, at)
	if end == len(b) {
		end = max(0, lineStart(b, at)-1)
	}
	if end > 0 && b[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func indentOf(b []byte, at int) string {
	return strings.Repeat(" ", at-lineStart(b, at))
}

// dash returns the indentation and dash of an element of a block list.
func dash(b []byte, at int) string {
	line := string(b[lineStart(b, at):at])
	if strings.Trim(line, " -") != "" {
		return indentOf(b, at) + "- "
	}
	return line
}
