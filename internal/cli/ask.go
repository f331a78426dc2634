package cli

import (
	"bufio"
	"context"
	"fmt"
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
		return nil, diag.New(diag.AuthRequired, "reading a passphrase: there is no terminal to ask at")
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
	if !c.Isatty(c.Stdin) {
		return "", diag.New(diag.Usage, "asking for %s: there is no terminal to ask at", strings.TrimSpace(prompt))
	}
	_ = c.UI.Stdout.Flush() // the subject of the question is printed first
	fmt.Fprint(c.Stderr, hidden.Visible(prompt))
	line, err := interruptible(c, func() (string, error) { return bufio.NewReader(c.Stdin).ReadString('\n') })
	if diag.CodeOf(err) == diag.Cancelled {
		fmt.Fprintln(c.Stderr)
		return "", err
	}
	if err != nil && line == "" {
		return "", diag.New(diag.Usage, "asking for %s: no answer", strings.TrimSpace(prompt))
	}
	return strings.TrimSpace(line), nil
}

// Confirm asks a question and reports whether the answer is y or yes.
func (c *Call) Confirm(question string) (bool, error) {
	answer, err := c.Ask(question + " [y/N] ")
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}

// AskWithin is Ask that returns the error of ctx when ctx ends first.
func (c *Call) AskWithin(ctx context.Context, prompt string) (string, error) {
	type answer struct {
		line string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		line, err := c.Ask(prompt)
		done <- answer{line, err}
	}()
	select {
	case a := <-done:
		return a.line, a.err
	case <-ctx.Done():
		fmt.Fprintln(c.Stderr)
		return "", ctx.Err()
	}
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
