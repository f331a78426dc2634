package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
)

// readerFunc is a terminal that looks around when it is read.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Who is asked has seen what he is asked about, and the question itself does
// not steer the terminal.
func TestAskShowsFirstWhatItAsksAbout(t *testing.T) {
	var out, errOut bytes.Buffer
	seen := ""
	w := &cli.World{Stdout: &out, Stderr: &errOut, Isatty: func(any) bool { return true }, Stdin: readerFunc(func(p []byte) (int, error) {
		seen = out.String()
		return copy(p, "y\n"), nil
	})}
	c := &cli.Call{World: w, UI: &cli.UI{Stdout: bufio.NewWriter(&out), Stderr: &errOut}}
	c.UI.Out("+ key of eve")
	answer, err := c.Ask("Accept \x1b[2K\r? ")
	if err != nil || answer != "y" {
		t.Errorf("answer %q, %v", answer, err)
	}
	if seen != "+ key of eve\n" {
		t.Errorf("before the answer stdout showed %q", seen)
	}
	if strings.ContainsAny(errOut.String(), "\x1b\r") {
		t.Errorf("the question is %q", errOut.String())
	}
}
