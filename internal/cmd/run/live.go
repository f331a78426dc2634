package run

import (
	"fmt"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/proc"
)

// liveLine shows, at a terminal, the last line that a running tool printed. It is
// erased before the result is printed. Without a terminal it prints nothing.
type liveLine struct {
	ui    *cli.UI
	on    bool
	drawn bool
}

func newLiveLine(c *cli.Call) *liveLine {
	return &liveLine{ui: c.UI, on: env.NewProgress(c).On}
}

// line shows a line of a tool. A line of stderr stays on the screen.
func (l *liveLine) line(s proc.Stream, line []byte) {
	switch {
	case s == proc.Stderr:
		l.clear()
		l.ui.Note("%s", cli.Line(string(line)))
	case s == proc.Live && l.on:
		l.draw(hidden.Visible(string(line)))
	}
}

func (l *liveLine) draw(text string) {
	if w := cli.TerminalWidth(l.ui.Stderr); w > 1 {
		text = inline.Cut(text, w-1)
	}
	fmt.Fprintf(l.ui.Stderr, "\r\x1b[K%s", text)
	l.drawn = true
}

// clear erases the line.
func (l *liveLine) clear() {
	if l.drawn {
		fmt.Fprint(l.ui.Stderr, "\r\x1b[K")
		l.drawn = false
	}
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
