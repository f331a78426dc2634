// Package wire is what every applet has in common: it reads the parameters,
// runs the body and writes the result. One JSON object is read from stdin, one
// JSON object is written to stdout.
//
// It has no applet of its own, opens no project, and does not decide whether an
// applet may run: the item that names the applet was resolved, verified and
// permitted before this process began.
package wire

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Params is the environment of an applet. The zero value works.
type Params struct {
	Stdin   io.Reader           // the parameters as one JSON object; nil means {}
	Stdout  io.Writer           // receives the result; nil discards it
	Stderr  io.Writer           // receives progress lines (proc.LiveMark); nil means none
	Getenv  func(string) string // nil means an empty environment
	Dir     string              // the project; "" means $RYE_PROJECT, then the current directory
	Now     func() time.Time    // nil means time.Now
	Environ func() []string     // the environment of started programs; nil means an empty one
	Version string              // of rye; "" means the version that the build recorded
	Here    bool                // the applet runs in the process of its caller

	// Run starts the program of an applet; nil means proc.Run.
	Run func(context.Context, proc.Cmd) (proc.Result, error)
}

// ErrOwnProcess is the error of an applet that runs in the process of its caller, for work that
// needs a process of its own. It has written nothing: the caller starts it again in one.
var ErrOwnProcess = errors.New("the call needs a process of its own")

// ExitOwnProcess is the exit status of a call that ended with ErrOwnProcess.
const ExitOwnProcess = 76

// Func is the body of one applet: it takes the parameters and returns a result
// that marshals to a JSON object.
type Func func(ctx context.Context, p Params, in map[string]any) (any, error)

// Run runs the named applet of the table and writes its result, or its error as
// {"success":false,"error":{…}}, to p.Stdout. It returns the exit status: 0
// after success, 1 after a failure, 70 after a panic, ExitOwnProcess after
// ErrOwnProcess.
func Run(ctx context.Context, table map[string]Func, name string, p Params) (exit int) {
	p = p.withDefaults()
	result, err := call(ctx, table, name, p)
	if p.Here && errors.Is(err, ErrOwnProcess) {
		return ExitOwnProcess
	}
	if err == nil {
		err = writeJSON(p.Stdout, result)
	}
	if err == nil {
		// A result may itself report a failure, for example of a command.
		r, ok := result.(interface{ Succeeded() bool })
		if ok && !r.Succeeded() {
			return 1
		}
		return 0
	}
	if writeJSON(p.Stdout, failureOf(err)) != nil {
		return 1
	}
	if diag.CodeOf(err) == diag.Internal {
		return 70 // the exit status of rye itself after a panic
	}
	return 1
}

func call(
	ctx context.Context,
	table map[string]Func,
	name string,
	p Params,
) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, diag.New(diag.Internal, "running applet %q: %v", name, r)
		}
	}()
	f, ok := table[name]
	if !ok {
		return nil, diag.New(diag.ToolNotFound, "running applet: unknown applet %q; the applets are %s",
			name, strings.Join(slices.Sorted(maps.Keys(table)), ", "))
	}
	in, err := readParams(p.Stdin)
	if err != nil {
		return nil, err
	}
	return f(ctx, p, in)
}

func (p Params) withDefaults() Params {
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("{}")
	}
	if p.Stdout == nil {
		p.Stdout = io.Discard
	}
	if p.Getenv == nil {
		p.Getenv = func(string) string { return "" }
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Run == nil {
		p.Run = proc.Run
	}
	if p.Environ == nil {
		p.Environ = func() []string { return nil }
	}
	return p
}

// Cancelled returns the error of work that its context ended.
func Cancelled(doing string, err error) error {
	return diag.New(diag.Cancelled, "%s: %w", doing, err)
}
