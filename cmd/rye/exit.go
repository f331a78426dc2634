package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet"
	rcli "github.com/ryeos/rye/internal/cli"
)

// exitInterrupted is the status after an interrupt at the terminal.
const exitInterrupted = 130

// run is one run of the program; it returns the exit status.
func run(ctx context.Context, w *world) (status int) {
	if len(w.Args) > 1 && w.Args[0] == "applet" { // the fastest path: tools start this way
		return runApplet(ctx, w)
	}
	u := newUI(w)
	defer func() {
		if p := recover(); p != nil {
			status = u.bug(p, debug.Stack())
		}
	}()
	err := dispatch(ctx, w, u)
	if flushed := u.flush(); err == nil {
		err = flushed
	}
	return u.finish(ctx, err)
}

// runApplet runs an applet. A caller that goes away must not end it by SIGPIPE:
// what it has started would stay.
func runApplet(ctx context.Context, w *world) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return applet.Run(ctx, w.Args[1], applet.Params{
		Stdin: w.Stdin, Stdout: w.Stdout, Stderr: w.Stderr, Getenv: w.Getenv, Environ: w.Environ, Now: w.Now,
	})
}

// shownError is an error whose report a person has already seen on stdout. In
// the JSON form data stands beside the error.
type shownError struct {
	err  error
	data any
}

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// shown ends a command whose report tells all that err would: the exit status
// is err's, and stderr stays empty.
func shown(err error, data any) error { return &shownError{err, data} }

// finish reports err and returns the exit status.
func (u *ui) finish(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	e := diag.Typed(err)
	status := rcli.ExitStatus(e.Code)
	cancelled := e.Code == diag.Cancelled || errors.Is(err, context.Canceled)
	if ctx.Err() != nil { // whatever failed after the interrupt failed because of it
		status = exitInterrupted
	}
	var s *shownError
	isShown := errors.As(err, &s)
	switch {
	case u.json && !u.wrote:
		doc := envelope{Error: failure(e)}
		if isShown {
			doc.Data = s.data
		}
		_ = u.document(doc)
		_ = u.out.Flush()
	case u.json || isShown:
	case status == exitInterrupted && cancelled:
		u.tell("%s interrupted", u.errStyle(red, "rye: error:"))
	default:
		u.reportError(e)
	}
	return status
}

// bug reports a panic. The stack is shown with -v only: it is long, and the
// place where it began is in the message.
func (u *ui) bug(p any, stack []byte) int {
	e := diag.New(diag.Internal, "running %q: %v", "rye "+u.command, p).
		WithHint("%s", reportHint()).WithDetail("version", readVersion().Version)
	if u.verbose {
		e.WithDetail("stack", string(stack))
	}
	_ = u.out.Flush()
	if u.json && !u.wrote {
		_ = u.document(envelope{Error: failure(e)})
		_ = u.out.Flush()
		return rcli.ExitStatus(e.Code)
	}
	u.reportError(e)
	v := readVersion()
	u.tell("this is a bug in rye %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
	if u.verbose {
		for line := range strings.SplitSeq(strings.TrimSpace(string(stack)), "\n") {
			u.tell("%s", strings.ReplaceAll(line, "\t", "  "))
		}
	}
	return rcli.ExitStatus(e.Code)
}

// failure renders an error with the hints for people.
func failure(e *diag.Error) *diag.Failure {
	rcli.FillFixes(e.Findings)
	f := diag.NewFailure(e)
	f.Suggestion = rcli.Hint(e)
	return f
}

func reportHint() string {
	return fmt.Sprintf("please report it at https://%s/issues with this message and the output of rye version", modulePath)
}

const modulePath = "github.com/ryeos/rye"
