package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// AskSecret reads a line at the terminal without echo. An interrupt restores the
// terminal and is CANCELLED.
func (c *Call) AskSecret(prompt string) ([]byte, error) {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return nil, diag.New(diag.AuthRequired, "reading a passphrase: this process has no terminal to ask at")
	}
	before, _ := term.GetState(int(f.Fd()))
	fmt.Fprint(c.Stderr, prompt)
	b, err := interruptible(c, func() ([]byte, error) { return term.ReadPassword(int(f.Fd())) })
	fmt.Fprintln(c.Stderr)
	switch {
	case diag.CodeOf(err) == diag.Cancelled:
		if before != nil { // ReadPassword still waits, without echo
			_ = term.Restore(int(f.Fd()), before)
		}
		return nil, err
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "reading a passphrase: %w", err)
	}
	return b, nil
}

// Ask reads one line at a terminal; elsewhere it is an error. An interrupt is
// CANCELLED.
func (c *Call) Ask(prompt string) (string, error) {
	return c.ask(nil, prompt)
}

// AskWithin is Ask that returns the error of ctx when ctx ends first.
func (c *Call) AskWithin(ctx context.Context, prompt string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	line, err := c.ask(ctx.Done(), prompt)
	if errors.Is(err, errAskEnded) {
		return "", ctx.Err()
	}
	return line, err
}

// errAskEnded means that the caller no longer waits for the answer.
var errAskEnded = errors.New("the question ended without an answer")

// ask is Ask that returns errAskEnded when end is closed first.
func (c *Call) ask(end <-chan struct{}, prompt string) (string, error) {
	if !c.Isatty(c.Stdin) {
		return "", diag.New(diag.Usage, "asking for %s: this process has no terminal to ask at", strings.TrimSpace(prompt))
	}
	_ = c.UI.Stdout.Flush() // the subject of the question is printed first
	fmt.Fprint(c.Stderr, hidden.Visible(prompt))
	answer := c.UI.nextLine(c.Stdin)
	line, err := interruptible(c, func() (string, error) {
		select {
		case <-answer.done:
			c.UI.take(answer)
			return answer.line, answer.err
		case <-end:
			return "", errAskEnded
		}
	})
	if diag.CodeOf(err) == diag.Cancelled || errors.Is(err, errAskEnded) {
		fmt.Fprintln(c.Stderr)
		return "", err
	}
	if err != nil && line == "" {
		return "", diag.New(diag.Usage, "asking for %s: no answer", strings.TrimSpace(prompt))
	}
	return strings.TrimSpace(line), nil
}

// lineRead is a read of one line that may outlast the question that began it.
type lineRead struct {
	done chan struct{}
	line string
	err  error
}

// nextLine begins to read a line. A read whose question has ended cannot be ended: the
// next question takes its line, also one that was typed between the two.
func (u *UI) nextLine(r io.Reader) *lineRead {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.reading == nil {
		l := &lineRead{done: make(chan struct{})}
		u.reading = l
		go func() {
			defer close(l.done)
			l.line, l.err = bufio.NewReader(r).ReadString('\n')
		}()
	}
	return u.reading
}

// take ends a read whose line a question has got.
func (u *UI) take(l *lineRead) {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.reading == l {
		u.reading = nil
	}
}

// Confirm asks a question and reports whether the answer is y or yes.
func (c *Call) Confirm(question string) (bool, error) {
	answer, err := c.Ask(question + " [y/N] ")
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}

// interruptible returns what read returns, or CANCELLED if the call is interrupted
// first: a read from a terminal does not end with an interrupt. The command then ends
// as interrupted, whatever it does with the error.
func interruptible[T any](c *Call, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := read()
		done <- result{v, err}
	}()
	if c.ctx == nil {
		r := <-done
		return r.value, r.err
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-c.ctx.Done():
		c.UI.interrupted = true
		var none T
		return none, diag.New(diag.Cancelled, "asking at the terminal: interrupted")
	}
}
