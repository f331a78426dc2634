package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/termkeys"
)

// AskSecret reads a line at the terminal without echo. An interrupt restores the
// terminal and is CANCELLED. The end of the input is USAGE, as for every question.
func (c *Call) AskSecret(prompt string) ([]byte, error) {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return nil, diag.New(diag.AuthRequired, "reading a passphrase: this process has no terminal to ask at")
	}
	leave, err := c.turn(nil)
	if err != nil {
		return nil, err
	}
	defer leave()
	before, _ := term.GetState(int(f.Fd()))
	b, err := interruptible(c, func() ([]byte, error) {
		return readHidden(f, func() {
			fmt.Fprint(c.Stderr, prompt)
		})
	})
	fmt.Fprintln(c.Stderr)
	switch {
	case diag.CodeOf(err) == diag.Cancelled:
		if before != nil { // readHidden still waits, without echo
			_ = term.Restore(int(f.Fd()), before)
		}
		return nil, err
	case errors.Is(err, io.EOF):
		return nil, inputEnded(prompt)
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "reading a passphrase: %w", err)
	}
	return b, nil
}

// readHidden calls ask and reads a line without echo. The end of the input is io.EOF.
func readHidden(f *os.File, ask func()) ([]byte, error) {
	b, err := termkeys.ReadHidden(f, ask)
	if errors.Is(err, errors.ErrUnsupported) {
		ask()
		return term.ReadPassword(int(f.Fd()))
	}
	return b, err
}

// inputEnded returns the error of a question at which the input ended: it has no answer.
func inputEnded(prompt string) error {
	return diag.New(diag.Usage, "reading the answer to %q: the input ended", strings.TrimRight(strings.TrimSpace(prompt), ":"))
}

// Ask reads one line at a terminal; elsewhere it is an error. An interrupt is
// CANCELLED.
func (c *Call) Ask(prompt string) (string, error) {
	if err := c.askable(prompt); err != nil {
		return "", err
	}
	leave, err := c.turn(nil)
	if err != nil {
		return "", err
	}
	defer leave()
	c.prompt(hidden.Visible(prompt))
	l, _ := c.UI.nextLine(c.Stdin)
	line, err := c.await(l, nil)
	return c.answer(prompt, line, err)
}

// AskWithin asks for a permission, as the function of InTurn does.
func (c *Call) AskWithin(ctx context.Context, prompt string) (answer string, err error) {
	err = c.InTurn(ctx, func(ask func(string) (string, error)) (err error) {
		answer, err = ask(prompt)
		return err
	})
	return answer, err
}

// InTurn calls f with a function that asks for permissions. No other question is asked
// before f returns. It returns the error of ctx if ctx ends first, and so does the
// function. A line that was typed before a question is not an answer to it. A prompt can
// have several lines.
func (c *Call) InTurn(ctx context.Context, f func(ask func(prompt string) (string, error)) error) error {
	return c.OwnTurn(ctx, func() error {
		return f(func(prompt string) (string, error) {
			if err := c.askable(prompt); err != nil {
				return "", err
			}
			line, err := c.permission(ctx, prompt)
			if errors.Is(err, errAskEnded) {
				fmt.Fprintln(c.Stderr)
				return "", ctx.Err()
			}
			return c.answer(prompt, line, err)
		})
	})
}

// OwnTurn calls f, which asks at the terminal in its own way. No other question is asked before
// f returns. It returns the error of ctx if ctx ends first, and CANCELLED after an interrupt.
func (c *Call) OwnTurn(ctx context.Context, f func() error) error {
	leave, err := c.turn(ctx.Done())
	switch {
	case ctx.Err() != nil:
		if err == nil {
			leave()
		}
		return ctx.Err()
	case err != nil:
		return err
	}
	defer leave()
	_ = c.UI.Stdout.Flush()
	err = f()
	select {
	case <-c.end():
		if err != nil && diag.CodeOf(err) != diag.Cancelled {
			return c.cancelled()
		}
	default:
	}
	return err
}

// Reads reports whether the read of an earlier question still waits for a line.
func (c *Call) Reads() bool {
	c.UI.asking.Lock()
	defer c.UI.asking.Unlock()
	return c.UI.reading != nil
}

// permission reads the line that is typed after a prompt. A read that began for an earlier
// question takes the next line, which may have been meant for that question.
func (c *Call) permission(ctx context.Context, prompt string) (string, error) {
	lines := strings.Split(prompt, "\n")
	for i, line := range lines {
		lines[i] = hidden.Visible(line)
	}
	prompt = strings.Join(lines, "\n")
	const discarded = "discarded a line that was typed before this question or for an earlier one"
	stale := c.UI.stale()
	f, _ := c.Stdin.(*os.File)
	for ctx.Err() == nil {
		if f != nil && proc.DropTyped(f) || stale {
			c.UI.PrintErr(discarded)
		}
		c.prompt(prompt)
		if stale = c.early(ctx, f); stale {
			fmt.Fprintln(c.Stderr)
			continue
		}
		l, earlier := c.UI.nextLine(c.Stdin)
		line, err := c.await(l, ctx.Done())
		if !earlier || errors.Is(err, errAskEnded) || diag.CodeOf(err) == diag.Cancelled {
			return line, err
		}
		stale = line != ""
	}
	return "", errAskEnded
}

// Guard is the time after a question is printed in which nothing that is typed is an answer: a
// person has not read it yet.
const Guard = 500 * time.Millisecond

// QuestionGuard returns the time of this run.
func (w *World) QuestionGuard() time.Duration {
	if w.Guard != 0 {
		return max(w.Guard, 0)
	}
	return Guard
}

// early waits until a person can have read a question, and discards what was typed meanwhile.
// It reports whether a line was.
func (c *Call) early(ctx context.Context, f *os.File) bool {
	if f == nil || c.Reads() {
		return false
	}
	over := time.NewTimer(c.QuestionGuard())
	defer over.Stop()
	select {
	case <-over.C:
		return c.QuestionGuard() > 0 && proc.DropTyped(f)
	case <-ctx.Done():
	case <-c.end():
	}
	return false
}

// errAskEnded means that the caller no longer waits for the answer.
var errAskEnded = errors.New("the question ended without an answer")

// askable returns the error for a question without a terminal.
func (c *Call) askable(prompt string) error {
	if c.Isatty(c.Stdin) {
		return nil
	}
	return diag.New(diag.Usage, "asking for %s: this process has no terminal to ask at", strings.TrimSpace(prompt))
}

// turn waits until no other question is open. Every question has a turn, so that one line
// answers one question. The error is errAskEnded if end is closed first.
func (c *Call) turn(end <-chan struct{}) (leave func(), err error) {
	c.UI.asking.Lock()
	if c.UI.turn == nil {
		c.UI.turn = make(chan struct{}, 1)
	}
	turn := c.UI.turn
	c.UI.asking.Unlock()
	select {
	case turn <- struct{}{}:
		resume := func() {}
		if s := c.UI.Screen; s != nil {
			resume = s.Suspend()
		}
		return func() { resume(); <-turn }, nil
	case <-end:
		return nil, errAskEnded
	case <-c.end():
		return nil, c.cancelled()
	}
}

// prompt prints a question after the results, which are its subject.
func (c *Call) prompt(visible string) {
	_ = c.UI.Stdout.Flush()
	fmt.Fprint(c.Stderr, visible)
}

// await returns the line of a read. The error is errAskEnded if end is closed first.
func (c *Call) await(l *lineRead, end <-chan struct{}) (string, error) {
	select {
	case <-l.done:
		c.UI.take(l)
		return l.line, l.err
	case <-end:
		return "", errAskEnded
	case <-c.end():
		fmt.Fprintln(c.Stderr)
		return "", c.cancelled()
	}
}

// answer returns a line as the answer to a question. Text without an end of the line is not one:
// the input ended while it was typed.
func (c *Call) answer(prompt, line string, err error) (string, error) {
	switch {
	case diag.CodeOf(err) == diag.Cancelled:
		return "", err
	case err != nil:
		c.UI.PrintErr("") // the error begins a line
		return "", inputEnded(prompt)
	}
	return strings.TrimSpace(line), nil
}

// lineRead is a read of one line that may outlast the question that began it.
type lineRead struct {
	done chan struct{}
	line string
	err  error
}

// nextLine begins to read a line. A read whose question has ended cannot be ended: earlier
// is true if the line belongs to such a read, also a line that was typed between the two.
func (u *UI) nextLine(r io.Reader) (l *lineRead, earlier bool) {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.reading != nil {
		return u.reading, true
	}
	l = &lineRead{done: make(chan struct{})}
	u.reading = l
	go func() {
		defer close(l.done)
		l.line, l.err = bufio.NewReader(r).ReadString('\n')
	}()
	return l, false
}

// take ends a read whose line a question has got.
func (u *UI) take(l *lineRead) {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.reading == l {
		u.reading = nil
	}
}

// stale ends the read of an earlier question if it has a line, and reports whether it had.
func (u *UI) stale() bool {
	u.asking.Lock()
	defer u.asking.Unlock()
	if u.reading == nil {
		return false
	}
	select {
	case <-u.reading.done:
		had := u.reading.line != ""
		u.reading = nil
		return had
	default:
		return false
	}
}

// Confirm asks a question and reports whether the answer is y or yes.
func (c *Call) Confirm(question string) (bool, error) {
	answer, err := c.Ask(question + " [y/N] ")
	return isYes(answer), err
}

// ConfirmWithin asks for a permission and reports whether the answer is y or yes.
func (c *Call) ConfirmWithin(ctx context.Context, question string) (bool, error) {
	answer, err := c.AskWithin(ctx, question+" [y/N] ")
	return isYes(answer), err
}

func isYes(answer string) bool {
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")
}

// end is closed when the call is interrupted. It is nil if nothing interrupts it.
func (c *Call) end() <-chan struct{} {
	if c.ctx == nil {
		return nil
	}
	return c.ctx.Done()
}

// cancelled returns the error of an interrupted question. The command then ends as
// interrupted, whatever it does with the error.
func (c *Call) cancelled() error {
	c.UI.interrupted.Store(true)
	return diag.New(diag.Cancelled, "asking at the terminal: interrupted")
}

// interruptible returns the results of read, or CANCELLED if the call is interrupted
// first: a read from a terminal does not end with an interrupt.
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
	select {
	case r := <-done:
		return r.value, r.err
	case <-c.end():
		var none T
		return none, c.cancelled()
	}
}
