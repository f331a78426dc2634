// Package inline writes live output to a terminal: lines that stay, and below them a small
// block that is drawn again and again. It is the only writer while something is live: the
// output of others passes its Write, so that no block stays between their lines.
//
// It does not decide what is shown, and it makes no text safe: its callers pass lines whose
// hidden characters are visible.
package inline

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Mode is how output appears.
type Mode int

// The modes.
const (
	Quiet    Mode = iota // nothing is written
	Appended             // lines only, to a file or a pipe
	Plain                // lines only, at a terminal
	Live                 // lines, and a block below them
)

// Terminal has the facts that decide the mode.
type Terminal struct {
	Isatty bool // of the stream that is written to
	CI     bool
	Quiet  bool
	Plain  bool // it only appends lines, or a person wants that
}

// Mode returns how output appears at the terminal.
func (t *Terminal) Mode() Mode {
	switch {
	case t.Quiet:
		return Quiet
	case t.CI || !t.Isatty && !t.Plain:
		return Appended
	case t.Plain:
		return Plain
	}
	return Live
}

// frame is the shortest time between two drawings of the block: 15 in a second.
const frame = time.Second / 15

// Params configure a writer.
type Params struct {
	Out  io.Writer
	Mode Mode
	Size func() (columns, rows int) // of the terminal, zeros if they are not known
	Now  func() time.Time
	// Still draws no block and moves no cursor: the lines are for another program.
	Still bool
}

// Writer writes to a terminal. Its methods may be called at the same time.
type Writer struct {
	p Params

	mu     sync.Mutex
	block  []string // that is wanted
	drawn  []int    // the columns of each line of the block on the screen
	width  int      // of the terminal when it was drawn
	fresh  bool     // the block on the screen is the wanted one
	at     time.Time
	held   int      // questions that own the screen
	later  []string // lines that wait until a question is answered
	broken bool     // the last line that others wrote has no end
}

// New returns a writer. Nothing is written yet.
func New(p Params) *Writer {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &Writer{p: p}
}

// Mode returns how the output appears.
func (w *Writer) Mode() Mode {
	return w.p.Mode
}

// Size returns the columns and rows of the terminal; for a file, or if they are not known, 80
// and 24.
func (w *Writer) Size() (columns, rows int) {
	if w.p.Size != nil {
		columns, rows = w.p.Size()
	}
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// Rows returns the most rows that a block has: eight, and a third of the screen.
func (w *Writer) Rows() int {
	_, rows := w.Size()
	return max(1, min(8, rows/3))
}

// Append writes lines that stay.
func (w *Writer) Append(lines ...string) {
	if len(lines) == 0 || w.p.Mode == Quiet {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held > 0 && w.p.Mode == Live {
		w.later = append(w.later, lines...)
		return
	}
	w.append(lines)
}

func (w *Writer) append(lines []string) {
	var out bytes.Buffer
	for _, l := range lines {
		out.WriteString(strings.TrimRight(l, " "))
		out.WriteByte('\n')
	}
	w.write(out.Bytes())
}

// Print appends lines and sets the block, as one drawing. Without lines it is Block.
func (w *Writer) Print(lines, block []string) {
	if len(lines) == 0 {
		w.Block(block)
		return
	}
	w.mu.Lock()
	w.block = block
	w.fresh = false
	w.mu.Unlock()
	w.Append(lines...)
}

// Write writes what others print. A text that does not end a line is followed by the block
// only when its line has ended.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	w.write(b)
	return len(b), nil
}

// Block sets the block. It is drawn now, or by Draw if one was drawn a moment ago.
func (w *Writer) Block(lines []string) {
	if w.p.Mode != Live {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.block = lines
	w.fresh = false
	w.draw()
}

// Draw draws the block if it has changed, or the terminal has.
func (w *Writer) Draw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draw()
}

func (w *Writer) draw() {
	columns, _ := w.Size()
	if w.p.Mode != Live ||
		w.p.Still ||
		w.held > 0 ||
		w.broken ||
		w.fresh && columns == w.width ||
		w.p.Now().Sub(w.at) < frame {
		return
	}
	w.write(nil)
}

// Suspend removes the block, so that a question owns the screen until resume is called.
func (w *Writer) Suspend() (resume func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out bytes.Buffer
	w.erase(&out)
	w.flush(&out)
	w.held++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.held--; w.held == 0 {
			w.broken = false
			w.fresh = false
			if later := w.later; len(later) > 0 {
				w.later = nil
				w.append(later)
			}
			w.draw()
		}
	}
}

// Close removes the block. What is written later has none.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out bytes.Buffer
	w.erase(&out)
	w.flush(&out)
	w.block = nil
	w.fresh = true
	if later := w.later; len(later) > 0 {
		w.later = nil
		w.append(later)
	}
}

// write replaces the block on the screen by a text and the wanted block, in one write.
func (w *Writer) write(text []byte) {
	var out bytes.Buffer
	w.erase(&out)
	out.Write(text)
	if len(text) > 0 {
		w.broken = text[len(text)-1] != '\n'
	}
	if w.p.Mode == Live &&
		!w.p.Still &&
		w.held == 0 &&
		!w.broken {
		w.paint(&out)
	}
	w.flush(&out)
}

// flush writes to the terminal. A terminal that is gone does not end what is shown.
func (w *Writer) flush(out *bytes.Buffer) {
	if out.Len() == 0 {
		return
	}
	b := out.Bytes()
	if w.p.Mode == Live && !w.p.Still { // drawn as a whole by terminals that know mode 2026
		b = append(append([]byte("\x1b[?2026h"), b...), "\x1b[?2026l"...)
	}
	_, _ = w.p.Out.Write(b)
}

// erase moves to the start of the block on the screen and clears from there. A terminal that
// became narrower may have divided the lines of the block, and may have joined them again by
// now: what is certain is a row for each line. More rows could have text that stays.
func (w *Writer) erase(out *bytes.Buffer) {
	if len(w.drawn) == 0 {
		return
	}
	rows := len(w.drawn)
	out.WriteByte('\r')
	if rows > 1 {
		fmt.Fprintf(out, "\x1b[%dA", rows-1)
	}
	out.WriteString("\x1b[J")
	w.drawn = w.drawn[:0]
}

// paint draws the block. The cursor stays at its end.
func (w *Writer) paint(out *bytes.Buffer) {
	columns, _ := w.Size()
	lines := w.block[max(0, len(w.block)-w.Rows()):]
	for i, l := range lines {
		if i > 0 {
			out.WriteByte('\n')
		}
		l = Cut(strings.TrimRight(l, " "), columns-1)
		out.WriteString(l)
		w.drawn = append(w.drawn, ansi.StringWidth(l))
	}
	w.width, w.fresh, w.at = columns, true, w.p.Now()
}

// Width returns the columns of a text; escape sequences have none.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens a text to a number of columns.
func Cut(s string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if Width(s) <= columns {
		return s
	}
	return ansi.Truncate(s, columns, "…")
}

// CutMiddle is Cut that leaves out the middle of a text without escape sequences.
func CutMiddle(s string, columns int) string {
	width := Width(s)
	if width <= columns || columns < 3 {
		return Cut(s, columns)
	}
	front := Head(s, (columns-1)/2)
	for free := columns - 1 - Width(front); width > free; {
		c, n := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(c):]
		width = width - n
	}
	return front + "…" + s
}

// Head returns the beginning of a text without escape sequences that fits into a number of
// columns: at least its first character.
func Head(s string, columns int) string {
	head := ansi.Truncate(s, columns, "")
	if head != "" || s == "" {
		return head
	}
	first, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return first
}
