package mdterm

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
)

// minColumn is the width below which a column is not shrunk.
const minColumn = 8

// column is one of a table.
type column struct {
	head        []span
	width       int
	left, right bool // the colons of the second row
}

// cellsOf divides a row at its bars, but not within code and after a backslash.
func cellsOf(row string) []string {
	row = strings.TrimPrefix(strings.TrimSpace(row), "|")
	var out []string
	begin := 0
	code := 0
	for i := 0; i < len(row); {
		switch n := run(row[i:], '`'); {
		case n > 0:
			if code == 0 && closesSpan(row[i+n:], n) {
				code = n
			} else if n == code {
				code = 0
			}
			i += n
			continue
		case row[i] == '\\' && i+1 < len(row):
			i += 2
			continue
		case row[i] == '|' && code == 0:
			out = append(out, strings.TrimSpace(row[begin:i]))
			begin = i + 1
		}
		i++
	}
	rest := strings.TrimSpace(row[begin:])
	if rest != "" || len(out) == 0 {
		out = append(out, rest)
	}
	return out
}

// closesSpan reports whether a text has the end of code that n backquotes opened.
func closesSpan(text string, n int) bool {
	for text != "" {
		at := strings.IndexByte(text, '`')
		if at < 0 {
			return false
		}
		text = text[at:]
		m := run(text, '`')
		if m == n {
			return true
		}
		text = text[m:]
	}
	return false
}

// cell returns the text of a cell.
func (s *Stream) cell(text, styles string) []span {
	if text == "" {
		return nil
	}
	d := &drawing{s: s, source: []byte(strings.ReplaceAll(text, `\|`, "|"))}
	root := parse(d.source)
	n := root.FirstChild()
	if n != nil && n == root.LastChild() && n.Kind() == ast.KindParagraph {
		return d.spans(n, styles)
	}
	return []span{{text: text, styles: styles}} // another block, such as a heading, is text in a cell
}

// drawTable draws the rows of a table that are held, without its header if it was drawn: in
// columns if they fit, else with a line for each cell.
func (s *Stream) drawTable(held []string, prefix string) []string {
	var rows [][][]span
	for i, l := range held {
		if i == 1 {
			continue
		}
		style := ""
		if i == 0 {
			style = s.with("", bold)
		}
		var row [][]span
		for _, text := range cellsOf(l) {
			row = append(row, s.cell(text, style))
		}
		rows = append(rows, row)
	}
	cols := s.columns
	drawn := s.columns != nil
	limit := s.style.Width - ansi.StringWidth(prefix)
	if !drawn {
		cols = columns(rows, cellsOf(held[1]))
		s.columns = cols
	}
	fits := shrink(cols, limit)
	var out []string
	for i, row := range rows {
		switch {
		case i == 0 && (drawn || !fits):
		case !fits:
			out = append(out, s.record(row, cols, prefix)...)
		default:
			out = append(out, s.row(row, cols, prefix)...)
			if i == 0 {
				var rule []string
				for _, c := range cols {
					rule = append(rule, strings.Repeat("─", c.width))
				}
				out = append(out, prefix+s.dim(strings.Join(rule, "  ")))
			}
		}
	}
	return out
}

func columns(rows [][][]span, rule []string) []column {
	cols := make([]column, len(rows[0]))
	for _, row := range rows {
		for i := range min(len(row), len(cols)) {
			cols[i].width = max(cols[i].width, width(row[i]), 1)
		}
	}
	for i := range cols {
		cols[i].head = rows[0][i]
		if i < len(rule) {
			cols[i].left, cols[i].right = strings.HasPrefix(rule[i], ":"), strings.HasSuffix(rule[i], ":")
		}
	}
	return cols
}

func width(cell []span) (n int) {
	for _, sp := range cell {
		n += ansi.StringWidth(sp.text)
	}
	return n
}

// shrink makes the widest columns narrower until the table fits, and reports whether it does.
func shrink(cols []column, limit int) bool {
	if limit <= 0 {
		return true
	}
	for {
		total := 2 * (len(cols) - 1)
		widest := 0
		for i := range cols {
			total += cols[i].width
			if cols[i].width > cols[widest].width {
				widest = i
			}
		}
		if total <= limit {
			return true
		}
		if cols[widest].width <= minColumn {
			return false
		}
		cols[widest].width = max(minColumn, cols[widest].width-(total-limit))
	}
}

// row draws the cells of a row in their columns.
func (s *Stream) row(row [][]span, cols []column, prefix string) []string {
	parts := make([][]string, len(cols))
	height := 1
	for i := range cols {
		if i < len(row) {
			parts[i] = fill(
				words(row[i], cols[i].width),
				cols[i].width,
				"",
				"",
			)
		}
		height = max(height, len(parts[i]))
	}
	var out []string
	for n := range height {
		line := prefix
		for i, c := range cols {
			cell := ""
			if n < len(parts[i]) {
				cell = parts[i][n]
			}
			free := max(0, c.width-ansi.StringWidth(cell))
			before := 0
			switch {
			case c.left && c.right:
				before = free / 2
			case c.right:
				before = free
			}
			line += strings.Repeat(" ", before) + cell + strings.Repeat(" ", free-before)
			if i < len(cols)-1 {
				line += "  "
			}
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	return out
}

// record draws a row with a line for each cell.
func (s *Stream) record(row [][]span, cols []column, rest string) []string {
	var out []string
	for i, cell := range row {
		if i >= len(cols) {
			break
		}
		line := append(
			append([]span(nil), cols[i].head...),
			span{text: ": "},
		)
		out = append(out, s.wrapped(append(line, cell...), rest, rest+"  ")...)
	}
	return append(out, strings.TrimRight(rest, " "))
}
