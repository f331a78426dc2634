package cli

import (
	"strings"

	"github.com/ryeos/rye/internal/inline"
)

// fit gives the columns of a grid widths that fit a screen, and leaves columns out if it must. It
// reports whether those that stay fit. A column of rank 2 or more is left out before one of
// rank 0 has less than twice its least width.
func (g *grid) fit(width int) bool {
	if width == 0 {
		return true
	}
	for g.wider(width, g.comfortable) && g.drop(2) {
	}
	for g.wider(width, g.least) {
		if !g.drop(1) {
			return false
		}
	}
	g.shrink(width)
	return true
}

// wider reports whether columns of a width each, with the blanks between them, are wider than a
// screen.
func (g *grid) wider(screen int, width func(*column) int) bool {
	total := -2
	for i := range g.cols {
		total += width(&g.cols[i]) + 2
	}
	return total > screen
}

// least returns the width below which a column is not made narrower.
func (g *grid) least(c *column) int {
	least := c.Min
	if g.form == List {
		least = max(least, inline.Width(c.Name))
	}
	return min(c.width, max(least, 2)) // a character can take two
}

// comfortable returns the width below which a column is not made narrower for others of rank 2.
func (g *grid) comfortable(c *column) int {
	if c.Rank > 0 {
		return g.least(c)
	}
	return min(c.width, 2*max(c.Min, g.least(c)))
}

// shrink makes columns narrower until they fit: columns of the highest rank first, of one rank
// the one that is furthest from its least width.
func (g *grid) shrink(width int) {
	for g.wider(width, func(c *column) int { return c.width }) {
		var next *column
		most := 0
		for i := range g.cols {
			c := &g.cols[i]
			free := c.width - g.least(c)
			if free > 0 &&
				(next == nil || c.Rank > next.Rank || c.Rank == next.Rank && free > most) {
				next = c
				most = free
			}
		}
		if next == nil {
			return
		}
		next.width--
	}
}

// drop leaves out the column of the highest rank, the last one of several, if its rank is at
// least a number.
func (g *grid) drop(rank int) bool {
	at := -1
	for i, c := range g.cols {
		if c.Rank >= rank && (at < 0 || c.Rank >= g.cols[at].Rank) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	g.cols = append(g.cols[:at], g.cols[at+1:]...)
	return true
}

// fold returns a text as lines of at most width columns, divided at blanks, or within a word
// that is longer. The lines after the first have the indent of the text and then rest.
func fold(text string, width int, rest string) []string {
	if width == 0 || inline.Width(text) <= width {
		return []string{text}
	}
	words := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(words)]
	if rest = indent + rest; len(rest) > width/2 {
		indent = ""
		rest = ""
	}
	var out []string
	at := indent
	for words != "" {
		head := head(words, max(1, width-len(at)))
		out = append(out, at+strings.TrimRight(head, " "))
		words = strings.TrimLeft(words[len(head):], " ")
		at = rest
	}
	return out
}

// head returns the beginning of a text that fits, up to a blank if there is one.
func head(text string, width int) string {
	whole := inline.Head(text, width)
	if whole == text || text[len(whole)] == ' ' {
		return whole
	}
	if i := strings.LastIndexByte(whole, ' '); i > 0 {
		return whole[:i]
	}
	return whole
}
