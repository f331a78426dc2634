package cli

import (
	"strings"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
)

// Form is how the rows of a table are printed where they fit.
type Form int

// The forms.
const (
	List  Form = iota // columns under a header
	Bare              // columns without a header
	Facts             // the first column names the second, which is never cut
)

// Cut is what happens to a cell that is wider than its column.
type Cut int

// The cuts.
const (
	End    Cut = iota // its end is left out
	Middle            // its middle: the beginning and the end of an id or a path name it
	Wrap              // nothing: it continues below
)

// Column is a column of a table.
type Column struct {
	Name string // "" for a sign between cells, which has no line of its own
	Rank int    // 0 is always shown; of the others, the highest is left out first
	Min  int    // columns below which a cell is not cut
	Cut  Cut
	Wide bool // only with --wide and without a terminal
}

// Table is rows of cells in columns. A cell is a string, or styled text.
type Table struct {
	Columns []Column
	Form    Form
	rows    [][]any
}

// Add appends a row. It has a cell for each column, or for the first ones.
func (t *Table) Add(cells ...any) {
	if len(cells) > len(t.Columns) {
		panic("cli: a row has more cells than the table has columns")
	}
	t.rows = append(t.rows, cells)
}

// Screen is where a table is printed.
type Screen struct {
	Width int  // columns, 0 without a limit
	Wide  bool // every column, and whole cells
	Plain bool // a line for each cell, as a screen reader reads them
	Color bool // the header is bold
}

// minScreen is the width below which lines are not made shorter.
const minScreen = 20

// minValue is the width below which a fact begins in the line of its name.
const minValue = 12

// Whole reports whether nothing is left out of a table: without a terminal and with --wide.
func (u *UI) Whole() bool {
	return u.wide || u.width == 0
}

// Table prints a table as it fits the terminal. Without a terminal and with --wide every
// column is printed, and every cell is whole.
func (u *UI) Table(t *Table) {
	s := Screen{
		Width: u.width,
		Wide:  u.Whole(),
		Plain: u.plain,
		Color: u.color,
	}
	for _, l := range t.Lines(s) {
		u.Out("%s", Styled(l))
	}
}

// Lines returns a table as lines for a screen. If it is too wide, cells are cut, then columns
// are left out by their rank, and what does not fit then has a line for each cell.
func (t *Table) Lines(s Screen) []string {
	if s.Width > 0 {
		s.Width = max(s.Width, minScreen)
	}
	g := t.grid(s)
	if s.Plain {
		return g.records(s)
	}
	if s.Wide {
		s.Width = 0
	}
	if t.Form == Facts {
		if s.Width > 0 &&
			s.Width-g.cols[0].width-2 < max(minValue, s.Width/3) {
			return g.records(s)
		}
		g.cols[1].width = max(
			0,
			s.Width-g.cols[0].width-2,
		)
		return g.lines(s)
	}
	if !g.fit(s.Width) {
		return t.grid(s).records(s)
	}
	return g.lines(s)
}

// grid is the cells of a table with the widths of its columns.
type grid struct {
	form Form
	cols []column
	rows [][]cell
}

// column is a column with the width that it gets.
type column struct {
	Column
	at    int // in the rows
	width int
}

// grid returns the columns of a table that a screen shows, as wide as their cells.
func (t *Table) grid(s Screen) *grid {
	g := &grid{form: t.Form}
	for i, c := range t.Columns {
		if c.Wide && !s.Wide {
			continue
		}
		col := column{Column: c, at: i}
		if t.Form == List {
			col.width = inline.Width(c.Name)
		}
		g.cols = append(g.cols, col)
	}
	for _, r := range t.rows {
		row := make([]cell, len(t.Columns))
		for i, a := range r {
			row[i] = newCell(a)
		}
		g.rows = append(g.rows, row)
		for i := range g.cols {
			c := &g.cols[i]
			c.width = max(c.width, inline.Width(row[c.at].text))
		}
	}
	return g
}

// cell is text with the escape sequences around it.
type cell struct{ before, text, after string }

func newCell(a any) cell {
	styled, ok := a.(Styled)
	if !ok {
		s, _ := a.(string)
		return cell{text: hidden.Visible(strings.ReplaceAll(s, "\n", " "))}
	}
	text := string(styled)
	end := strings.IndexByte(text, 'm') + 1
	if strings.HasPrefix(text, "\x1b[") {
		inner, ok := strings.CutSuffix(text[end:], styleEnd)
		if ok && !strings.Contains(inner, "\x1b") {
			return cell{text[:end], inner, styleEnd}
		}
	}
	return cell{text: unstyle(text)} // a text of several styles could not be divided
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

// lines returns the rows in columns.
func (g *grid) lines(s Screen) []string {
	var out []string
	if g.form == List {
		head := make([]cell, 0, len(g.cols))
		for _, c := range g.cols {
			head = append(head, newCell(tint(s.Color, Bold, c.Name)))
		}
		out = append(out, joined(head, g.cols))
	}
	for _, row := range g.rows {
		parts := make([][]string, len(g.cols))
		height := 1
		for i, c := range g.cols {
			parts[i] = c.parts(row[c.at].text, s.Width)
			height = max(height, len(parts[i]))
		}
		for n := range height {
			cells := make([]cell, len(g.cols))
			for i, c := range g.cols {
				if n < len(parts[i]) && parts[i][n] != "" {
					cells[i] = cell{row[c.at].before, parts[i][n], row[c.at].after}
				}
			}
			out = append(out, joined(cells, g.cols))
		}
	}
	return out
}

// joined returns cells, each at the beginning of its column.
func joined(cells []cell, cols []column) string {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(c.before + c.text + c.after)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(
				" ",
				max(0, cols[i].width-inline.Width(c.text))+2,
			))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// parts returns a cell as the lines that it takes in its column.
func (c *column) parts(text string, screen int) []string {
	switch {
	case screen == 0 || inline.Width(text) <= c.width:
		return []string{text}
	case c.Cut == Wrap:
		return fold(text, c.width, "  ")
	case c.Cut == Middle:
		return []string{inline.CutMiddle(text, c.width)}
	}
	return []string{inline.Cut(text, c.width)}
}

// records returns the rows with a line for each cell that is not empty.
func (g *grid) records(s Screen) []string {
	var out []string
	add := func(name string, c cell) {
		text := c.text
		if name != "" {
			text = name + ": " + strings.TrimLeft(text, " ")
		}
		for _, l := range fold(text, s.Width, "  ") {
			out = append(out, strings.TrimRight(l, " "))
		}
	}
	for i, row := range g.rows {
		if g.form == Facts {
			name := strings.TrimSuffix(row[0].text, ":")
			if s.Plain {
				name = strings.TrimSpace(name)
			}
			if name == "" {
				row[1].text = "  " + row[1].text
			}
			add(name, row[1])
			continue
		}
		if i > 0 {
			out = append(out, "")
		}
		for _, c := range g.cols {
			name := c.Name
			if s.Plain {
				name = sentenceCase(name)
			}
			if row[c.at].text != "" && name != "" {
				add(name, row[c.at])
			}
		}
	}
	return out
}

// sentenceCase writes the name of a column as a word: a screen reader may spell capitals.
func sentenceCase(name string) string {
	if name == "" {
		return ""
	}
	return name[:1] + strings.ToLower(name[1:])
}
