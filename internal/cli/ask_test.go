package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// onWrite is a terminal that calls a function when a question is printed.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// A question that ended without an answer still reads a line: the next question takes
// it, and no line is lost.
func TestAskAfterAskWithin(t *testing.T) {
	in, person := io.Pipe()
	t.Cleanup(func() { person.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	w := &World{Stdin: in, Stdout: io.Discard, Stderr: onWrite(cancel), Isatty: func(any) bool { return true }}
	c := &Call{World: w, UI: &UI{Stdout: bufio.NewWriter(io.Discard), Stderr: io.Discard}}
	if _, err := c.AskWithin(ctx, "First?"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, _ = io.WriteString(person, "between\n") // the read of the first question returns
	for _, line := range []string{"between", "second", "third"} {
		if line != "between" {
			go func() { _, _ = io.WriteString(person, line+"\n") }()
		}
		if got, err := c.Ask("Next?"); err != nil || got != line {
			t.Errorf("the question got %q, %v; want %q", got, err, line)
		}
	}
}

// A question that begins too late is not printed and reads nothing.
func TestAskWithinEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &World{Stdin: strings.NewReader("line\n"), Stderr: onWrite(func() { t.Error("the question is printed") }),
		Isatty: func(any) bool { return true }}
	c := &Call{World: w, UI: &UI{Stdout: bufio.NewWriter(io.Discard)}}
	if _, err := c.AskWithin(ctx, "Late?"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	l := c.UI.nextLine(w.Stdin)
	<-l.done
	if l.line != "line\n" || l.err != nil {
		t.Errorf("the line is %q, %v", l.line, l.err)
	}
}
