package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/hidden"
)

// Table is rows of cells under a header. A cell is a string, or styled text.
type Table struct {
	Header []string
	rows   [][]any
	Wrap   bool // the last column continues below instead of being cut
	// Columns is the largest width of a row, also without a terminal; 0 is that of the
	// terminal.
	Columns int
}

// Add appends a row.
func (t *Table) Add(cells ...any) { t.rows = append(t.rows, cells) }

// Table prints aligned columns. On a terminal the header is bold and the last
// column is cut at the edge, or wrapped; elsewhere every cell is whole.
func (u *UI) Table(t *Table) {
	rows := make([][]cell, 0, len(t.rows)+1)
	if len(t.Header) > 0 {
		head := make([]any, len(t.Header))
		for i, h := range t.Header {
			head[i] = u.Style(Bold, h)
		}
		rows = append(rows, cells(head))
	}
	for _, r := range t.rows {
		rows = append(rows, cells(r))
	}
	widths := columnWidths(rows)
	for _, r := range rows {
		for _, line := range u.wrapped(t, r, widths) {
			u.Out("%s", Styled(row(line, widths, u.columns(t))))
		}
	}
}

// columns returns the width to which a table is cut, 0 if it is not.
func (u *UI) columns(t *Table) int {
	if t.Columns > 0 && (u.width == 0 || t.Columns < u.width) {
		return t.Columns
	}
	return u.width
}

// wrapped returns a row as the rows that it takes: one, or more where its last
// cell is wrapped between words.
func (u *UI) wrapped(t *Table, r []cell, widths []int) [][]cell {
	last := len(r) - 1
	if !t.Wrap || u.width == 0 || last < 1 {
		return [][]cell{r}
	}
	width := u.width
	for _, w := range widths[:last] {
		width -= w + 2
	}
	if r[last].width <= width || width < 12 {
		return [][]cell{r}
	}
	var out [][]cell
	text := r[last].text
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for text != "" {
		line := cutWords(text, width)
		text = strings.TrimSpace(text[len(line):])
		if text != "" {
			text = indent + "  " + text
		}
		out = append(out, append(r[:last:last], cell{line, utf8.RuneCountInString(line)}))
		r = make([]cell, last)
	}
	return out
}

// cutWords returns the start of a text that fits into width columns, cut at a blank
// if there is one.
func cutWords(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := string(runes[:width])
	if i := strings.LastIndexByte(head, ' '); i > 0 && strings.TrimSpace(head[:i]) != "" && runes[width] != ' ' {
		return head[:i]
	}
	return head
}

// cell is text as printed and the columns it takes.
type cell struct {
	text  string
	width int
}

func cells(row []any) []cell {
	out := make([]cell, len(row))
	for i, a := range row {
		if s, ok := a.(Styled); ok {
			out[i] = cell{string(s), utf8.RuneCountInString(unstyle(string(s)))}
			continue
		}
		s, _ := a.(string)
		s = strings.ReplaceAll(hidden.Visible(s), "\n", " ")
		out[i] = cell{s, utf8.RuneCountInString(s)}
	}
	return out
}

func columnWidths(rows [][]cell) []int {
	var widths []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], c.width)
		}
	}
	return widths
}

func row(r []cell, widths []int, columns int) string {
	var b strings.Builder
	used := 0
	for i, c := range r {
		last := i == len(r)-1
		if width := columns - used; last && columns > 0 && c.width > width && width > 1 && !strings.Contains(c.text, "\x1b") {
			c.text = string([]rune(c.text)[:width-1]) + "…"
		}
		b.WriteString(c.text)
		if !last {
			b.WriteString(strings.Repeat(" ", widths[i]-c.width+2))
			used += widths[i] + 2
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// unstyle removes the escape sequences that Style adds.
func unstyle(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}
