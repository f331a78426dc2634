package cli

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Run is one run of the program; it returns the exit status.
func Run(ctx context.Context, w *World) (status int) {
	u := newUI(w)
	defer func() {
		if p := recover(); p != nil {
			status = u.bug(p, debug.Stack())
		}
	}()
	err := dispatch(ctx, w, u)
	if flushed := u.Flush(); err == nil {
		err = flushed
	}
	return u.finish(ctx, err)
}

// shownError is an error that stdout already shows in full. The JSON form has data
// in addition to the error.
type shownError struct {
	err  error
	data any
}

func (e *shownError) Error() string {
	return e.err.Error()
}
func (e *shownError) Unwrap() error {
	return e.err
}

// Shown ends a command whose report contains everything in err: the exit status is
// the status of err, and nothing is printed to stderr.
func Shown(err error, data any) error {
	return &shownError{err, data}
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error {
	return e.error
}

// WithStatus returns err with the exit status that the command ends with, in place
// of the one that its code has.
func WithStatus(err error, status int) error {
	return &statusError{err, status}
}

// finish reports err and returns the exit status.
func (u *UI) finish(ctx context.Context, err error) int {
	if err == nil && u.interrupted.Load() {
		err = diag.New(diag.Cancelled, "asking at the terminal: interrupted")
	}
	if err == nil {
		return 0
	}
	e := diag.Typed(err)
	status := ExitStatus(e.Code)
	var stated *statusError
	if errors.As(err, &stated) {
		status = stated.status
	}
	cancelled := e.Code == diag.Cancelled ||
		errors.Is(err, context.Canceled) ||
		u.interrupted.Load()
	if ctx.Err() != nil { // whatever failed after the interrupt failed because of it
		status = ExitInterrupted
	}
	var s *shownError
	isShown := errors.As(err, &s)
	switch {
	case u.AsJSON && !u.wrote:
		doc := diag.Envelope{Error: Failure(e)}
		if isShown {
			doc.Data = s.data
		}
		_ = u.Document(doc)
		_ = u.Stdout.Flush()
	case u.AsJSON || isShown:
	case status == ExitInterrupted && cancelled:
		u.PrintErr("%s interrupted", u.ErrStyle(Red, "rye: error:"))
	default:
		u.reportError(e)
	}
	return status
}

// bug reports a panic. The stack is printed with -v only, because it is long and the
// message names its origin.
func (u *UI) bug(p any, stack []byte) int {
	e := diag.New(diag.Internal, "running %q: %v", "rye "+u.Command, p).
		WithDetail("version", ReadVersion().Version)
	if u.Detailed {
		e.WithDetail("stack", string(stack))
	}
	_ = u.Stdout.Flush()
	if u.AsJSON && !u.wrote {
		_ = u.Document(diag.Envelope{Error: Failure(e)})
		_ = u.Stdout.Flush()
		return ExitStatus(e.Code)
	}
	u.reportError(e)
	v := ReadVersion()
	u.PrintErr("this is a bug in rye %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
	if u.Detailed {
		for line := range strings.SplitSeq(strings.TrimSpace(string(stack)), "\n") {
			u.PrintErr("%s", strings.ReplaceAll(line, "\t", "  "))
		}
	}
	return ExitStatus(e.Code)
}

// Failure renders an error with the hints for people.
func Failure(e *diag.Error) *diag.Failure {
	FillFixes(e.Findings)
	nameFixes(e.Findings)
	f := diag.NewFailure(e)
	f.Suggestion = Hint(e)
	return f
}
