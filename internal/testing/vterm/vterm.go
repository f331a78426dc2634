// Package vterm emulates a terminal for tests: what a person sees after all escape sequences.
//
// It starts no program and opens no pseudo-terminal; package testkit does that.
package vterm

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/charmbracelet/x/vt"
)

// Terminal is an emulated terminal. One goroutine uses it.
type Terminal struct {
	mu      sync.Mutex
	vt      *vt.Emulator
	changes []string
}

// New returns an empty terminal.
func New(columns, rows int) *Terminal {
	t := &Terminal{vt: vt.NewEmulator(columns, rows)}
	t.vt.SetCallbacks(vt.Callbacks{
		Bell: func() { t.changed("bell") },
		Title: func(s string) {
			t.changed("title %q", s)
		},
		IconName: func(s string) {
			t.changed("icon %q", s)
		},
		AltScreen: func(on bool) {
			t.changed("alternate screen %v", on)
		},
		WorkingDirectory: func(s string) {
			t.changed("directory %q", s)
		},
		CursorVisibility: func(on bool) { t.changed("cursor %v", on) },
	})
	go t.answers()
	return t
}

// answers notes the replies that a terminal would type, until the terminal is closed.
func (t *Terminal) answers() {
	b := make([]byte, 1024)
	for {
		n, err := t.vt.Read(b)
		if n > 0 {
			t.changed("typed %q", b[:n])
		}
		if err != nil {
			return
		}
	}
}

func (t *Terminal) changed(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes = append(t.changes, fmt.Sprintf(format, args...))
}

// Write writes to the terminal as it comes from a pseudo-terminal, which adds the carriage
// returns.
func (t *Terminal) Write(b []byte) (int, error) {
	return t.vt.Write(b)
}

// TTY returns the other side of the terminal, to which a program writes: it adds the carriage
// returns of a pseudo-terminal.
func (t *Terminal) TTY() io.Writer {
	return tty{t}
}

type tty struct{ t *Terminal }

func (w tty) Write(b []byte) (int, error) {
	_, err := w.t.Write(bytes.ReplaceAll(
		b,
		[]byte("\n"),
		[]byte("\r\n"),
	))
	return len(b), err
}

// Close ends the emulation. The emulator's own Close changes a variable that its Read uses.
func (t *Terminal) Close() error {
	replies, ok := t.vt.InputPipe().(io.Closer)
	if ok {
		return replies.Close()
	}
	return t.vt.Close()
}

// Resize changes the size of the terminal. Lines are cut, not wrapped again.
func (t *Terminal) Resize(columns, rows int) {
	t.vt.Resize(columns, rows)
}

// Screen returns the visible rows, without blanks at their ends and without empty rows at
// the end.
func (t *Terminal) Screen() string {
	var out strings.Builder
	for l := range strings.SplitSeq(t.vt.String(), "\n") {
		out.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// Whole returns the rows that have left the screen, then the screen.
func (t *Terminal) Whole() string {
	var out strings.Builder
	for _, l := range t.vt.Scrollback().Lines() {
		out.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	return out.String() + t.Screen()
}

// Changes returns, in order, what a program changed in the terminal besides its text: bell,
// title, alternate screen, cursor, and replies that it asked for.
func (t *Terminal) Changes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.changes)
}
