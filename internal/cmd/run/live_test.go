package run

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/proc"
)

// What a command prints is one line at the terminal that goes before anything
// else is said; off a terminal nothing is written.
func TestLiveLine(t *testing.T) {
	var b, out bytes.Buffer
	l := &liveLine{ui: &cli.UI{Stdout: bufio.NewWriter(&out), Stderr: &b}, on: true}
	l.line(proc.Live, []byte("one"))
	l.line(proc.Live, []byte("two \x1b[31mred"))
	l.line(proc.Stdout, []byte("a result"))
	l.line(proc.Stderr, []byte("a note"))
	l.line(proc.Live, []byte("three"))
	l.clear()
	l.clear()
	got := b.String()
	if strings.Contains(got, "\x1b[31m") || strings.Contains(got, "result") || strings.Count(got, "\n") != 1 {
		t.Errorf("it writes %q", got)
	}
	if !strings.HasPrefix(got, "\r\x1b[Kone\r\x1b[Ktwo ") || !strings.HasSuffix(got, "red\r\x1b[Ka note\n\r\x1b[Kthree\r\x1b[K") {
		t.Errorf("it writes %q", got)
	}
	b.Reset()
	l.on = false
	l.line(proc.Live, []byte("one"))
	l.clear()
	if b.Len() > 0 {
		t.Errorf("off a terminal: %q", b.String())
	}
	if got := firstRunes("äöü", 2); got != "äö" {
		t.Errorf("two runes are %q", got)
	}
}
