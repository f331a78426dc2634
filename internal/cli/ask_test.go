package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// onWrite is a terminal that calls a function when a question is printed.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// terminalOf returns a call at a terminal that calls typed with each text that is printed.
func terminalOf(in io.Reader, typed func(text string)) *Call {
	out := writerFunc(typed)
	w := &World{Stdin: in, Stdout: io.Discard, Stderr: out, Isatty: func(any) bool { return true }}
	return &Call{World: w, UI: &UI{Stdout: bufio.NewWriter(io.Discard), Stderr: out}}
}

type writerFunc func(text string)

func (f writerFunc) Write(b []byte) (int, error) {
	f(string(b))
	return len(b), nil
}

// A line that is typed for a question that has ended permits nothing: not if it came
// between the two questions, and not if only its read began for the first.
func TestPermissionNeedsALineOfItsOwn(t *testing.T) {
	for _, between := range []bool{true, false} {
		in, person := io.Pipe()
		t.Cleanup(func() { person.Close() })
		ctx, cancel := context.WithCancel(t.Context())
		answers := []string{"once\n", "later\n"}
		if between {
			answers = answers[1:]
		}
		said := ""
		c := terminalOf(in, func(text string) {
			switch said += text; {
			case strings.Contains(text, "First?"):
				cancel()
			case strings.Contains(text, "Second?"):
				next := answers[0]
				answers = answers[1:]
				go func() { _, _ = io.WriteString(person, next) }()
			}
		})
		if _, err := c.AskWithin(ctx, "First? "); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if between {
			_, _ = io.WriteString(person, "once\n")
			<-c.UI.reading.done
		}
		got, err := c.AskWithin(t.Context(), "Second? ")
		if err != nil || got != "later" || strings.Count(said, "discarded a line") != 1 {
			t.Errorf("between %t: the question got %q, %v: %q", between, got, err, said)
		}
	}
}

// Two questions that are open at the same time need a line each, and one that waits for its
// turn ends with its context.
func TestQuestionsTakeTurns(t *testing.T) {
	in, person := io.Pipe()
	t.Cleanup(func() { person.Close() })
	asked := make(chan string, 4)
	c := terminalOf(in, func(text string) { asked <- text })
	answers := make(chan string, 3)
	for range 2 {
		go func() {
			got, err := c.AskWithin(t.Context(), "Run it? ")
			answers <- fmt.Sprint(got, err)
		}()
	}
	<-asked
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.AskWithin(late, "Never? "); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	for _, line := range []string{"first", "second"} {
		_, _ = io.WriteString(person, line+"\n")
		if got := <-answers; got != line+"<nil>" {
			t.Errorf("the answer is %s, not %s", got, line)
		}
		if line == "first" {
			if text := <-asked; text != "Run it? " || len(answers) > 0 {
				t.Errorf("asked %q, %d more answers", text, len(answers))
			}
		}
	}
}

// The lines of a question are lines, and cannot steer the terminal.
func TestPermissionOfSeveralLines(t *testing.T) {
	said := ""
	c := terminalOf(strings.NewReader("once\n"), func(text string) { said += text })
	if got, err := c.AskWithin(t.Context(), "Run it?\n  \x1b[2K\r\nonce runs it "); err != nil || got != "once" {
		t.Error(got, err)
	}
	if want := "Run it?\n  \\u{1b}[2K\\u{d}\nonce runs it "; said != want {
		t.Errorf("printed %q, not %q", said, want)
	}
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
	l, earlier := c.UI.nextLine(w.Stdin)
	<-l.done
	if l.line != "line\n" || l.err != nil || earlier {
		t.Errorf("the line is %q, %v", l.line, l.err)
	}
}
