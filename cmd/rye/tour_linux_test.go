package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The rows that a chapter of the tour may need at a terminal of 80 columns.
const chapterRows = 60

// TestTourChapters reads the tour as a person does: Enter shows the next chapter, a number
// another one, q ends. Each chapter fits on two screens.
func TestTourChapters(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred commands")
	}
	t.Parallel()
	home := t.TempDir()
	x := atTerminal(t, home, home, "tour")
	x.until("  1  A key and a project")
	x.until(" 18  With your own model")
	title := regexp.MustCompile(`Enter: chapter (\d+), (.*?)\. A number`)
	for n := 1; n <= 18; n++ {
		x.until(fmt.Sprintf("Enter: chapter %d, ", n))
		before := x.out.Len()
		x.send("\n")
		if n == 18 {
			x.until("Run it? [y/N] ")
			x.send("n\n")
			x.until("Enter or q: the end.")
			break
		}
		x.until(fmt.Sprintf("Enter: chapter %d, ", n+1))
		shown := x.out.String()[before:]
		if rows := rowsOf(shown, 80); rows >= chapterRows {
			t.Errorf("chapter %d has %d rows:\n%s", n, rows, shown)
		}
		if !strings.Contains(shown, fmt.Sprintf("%d. ", n)) {
			t.Errorf("chapter %d has no title:\n%s", n, shown)
		}
	}
	if len(title.FindAllString(x.out.String(), -1)) != 18 {
		t.Errorf("the prompts:\n%q", title.FindAllString(x.out.String(), -1))
	}

	// An earlier chapter again, in a new directory: it needs the ones before it, which are not shown.
	before := x.out.Len()
	x.send("4\n")
	x.untilAfter(before, "Enter: chapter 5, ")
	shown := x.out.String()[before:]
	if !strings.Contains(shown, "INTEGRITY FAILURE") || strings.Contains(shown, "2. The first tool") || strings.Contains(shown, "Create a key") {
		t.Errorf("chapter 4 again:\n%s", shown)
	}
	x.send("99\n")
	x.until(`There is no chapter "99": type a number from 1 to 18, Enter or q.`)
	x.send("q\n")
	x.until("End of the tour.")
	if s := x.status(); s != 0 {
		t.Errorf("exit status %d", s)
	}
}

// rowsOf returns how many rows of a terminal a text needs.
func rowsOf(text string, columns int) (rows int) {
	for line := range strings.Lines(text) {
		width := utf8.RuneCountInString(strings.TrimRight(line, "\r\n"))
		rows += max(1, (width+columns-1)/columns)
	}
	return rows
}
