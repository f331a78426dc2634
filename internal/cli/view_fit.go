package cli

import (
	"strings"

	"github.com/ryeos/rye/internal/inline"
)

// fit gives the columns of a grid widths that fit a screen, and leaves columns out if it must. It
// reports whether those that stay fit.
func (g *grid) fit(width int) bool {
	if width == 0 {
		return true
	}
	for {
		over := -width - 2
		least := -width - 2 // if every column had its least width
		for i := range g.cols {
			over += g.cols[i].width + 2
			least += g.least(&g.cols[i]) + 2
		}
		if least <= 0 {
			g.shrink(over)
			return true
		}
		if !g.drop() {
			return false
		}
	}
}

// least returns the width below which a column is not made narrower.
func (g *grid) least(c *column) int {
	least := c.Min
	if g.form == List {
		least = max(least, inline.Width(c.Name))
	}
	return min(c.width, max(least, 2)) // a character can take two
}

// shrink makes columns narrower by a number of columns of the screen: those of the highest rank
// first, of one rank the widest.
func (g *grid) shrink(over int) {
	for over > 0 {
		var next *column
		for i := range g.cols {
			c := &g.cols[i]
			if c.width > g.least(c) && (next == nil || c.Rank > next.Rank || c.Rank == next.Rank && c.width > next.width) {
				next = c
			}
		}
		if next == nil {
			return
		}
		next.width--
		over--
	}
}

// drop leaves out the column of the highest rank, the last one of several.
func (g *grid) drop() bool {
	at := -1
	for i, c := range g.cols {
		if c.Rank > 0 && (at < 0 || c.Rank >= g.cols[at].Rank) {
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
// that is longer. The lines after the first have the indent of the text and that of rest.
func fold(text string, width int, rest string) []string {
	if width == 0 || inline.Width(text) <= width {
		return []string{text}
	}
	words := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(words)]
	if rest = indent + rest; len(rest) > width/2 {
		indent, rest = "", ""
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
