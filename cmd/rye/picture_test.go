package main

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestLivePicture holds the picture of README against the screen of the script live_picture,
// which the real program draws at a terminal of 80 columns.
func TestLivePicture(t *testing.T) {
	script, err := txtar.ParseFile(filepath.Join("..", "..", "testdata", "scripts", "live_picture.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	screen := ""
	for _, f := range script.Files {
		if f.Name == "want" {
			screen = string(f.Data)
		}
	}
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(screen, "--- end\n")), "\n")
	if len(lines) < 10 {
		t.Fatalf("the screen has %d lines", len(lines))
	}
	golden(t, filepath.Join("..", "..", "docs", "img", "live-run.svg"), []byte(picture(lines)))
}

// picture draws the lines of a terminal.
func picture(lines []string) string {
	const width, row, margin = 80 * 8, 19, 16
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">`+"\n", width+2*margin, (len(lines)+1)*row+2*margin)
	fmt.Fprintln(&b, "<title>A model follows a directive in the terminal</title>")
	fmt.Fprintln(&b, `<rect width="100%" height="100%" rx="8" fill="#1b1f24"/>`)
	text := func(at int, colour, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", margin, margin+(at+1)*row, colour, html.EscapeString(s))
	}
	text(0, "#8b949e", "$ rye run directive demo/triage")
	for i, line := range lines {
		line = strings.ReplaceAll(line, "01xxxxxxxxxxxxxxxxxxxxxxxx", "01m8k7t9mqyqtnnej134c2g9b5")
		line = strings.ReplaceAll(line, "TIME", "0.1 s")
		colour := "#e6edf3"
		switch first, _ := utf8.DecodeRuneInString(line); {
		case first == '●' && (strings.Contains(line, " exit ") || strings.Contains(line, " failed ")):
			colour = "#ff7b72"
		case first == '●':
			colour = "#7ee787"
		case i == 0, i == len(lines)-1, first == ' ':
			colour = "#8b949e"
		}
		text(i+1, colour, line)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
