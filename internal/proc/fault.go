package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
)

// StartError returns the error for a program that another process could not start, as
// Run returns it for err of the system.
func StartError(c Cmd, err error) error {
	return unstartable(c.Path, c, c.Env, err)
}

// unstartable returns why the system did not start path.
func unstartable(path string, c Cmd, env []string, err error) *diag.Error {
	if c.Dir != "" {
		fi, e := os.Stat(c.Dir)
		if e != nil || !fi.IsDir() {
			return diag.New(diag.ExecutionFailed, "starting program: working directory %q does not exist", c.Dir).WithDetail("command", path)
		}
	}
	switch {
	case errors.Is(err, syscall.E2BIG):
		return tooBig(path, c.Argv, env)
	case errors.Is(err, fs.ErrNotExist):
		return absent(path, c)
	case errors.Is(err, fs.ErrPermission):
		return notExecutable(path)
	case errors.Is(err, syscall.ENOEXEC):
		return diag.New(diag.ExecutionFailed, "starting program: %q is not a program of this system and has no #! line", path).
			WithDetail("return_code", 126).WithDetail("command", path).WithReason("no_interpreter")
	}
	return diag.New(diag.ExecutionFailed, "starting program %q: %w", path, cause(err)).WithDetail("command", path)
}

// absent distinguishes a missing program from a script whose interpreter is missing.
func absent(path string, c Cmd) *diag.Error {
	file := path
	if c.Dir != "" && !strings.HasPrefix(path, "/") {
		file = c.Dir + "/" + path
	}
	if _, err := os.Stat(file); err != nil {
		return missing(path)
	}
	return diag.New(diag.ExecutionFailed, "starting program: the interpreter that %q names does not exist", path).
		WithDetail("return_code", 127).WithDetail("command", path).WithReason("interpreter_missing")
}

// tooBig returns the error for E2BIG, with the largest argument or variable.
func tooBig(path string, argv, env []string) *diag.Error {
	const perString = 128 << 10 // Linux: MAX_ARG_STRLEN
	total := 0
	most := 0
	what := ""
	count := func(s, label string) {
		total += len(s) + 1
		if len(s) > most {
			most = len(s)
			what = label
		}
	}
	for i, a := range argv {
		count(a, fmt.Sprintf("argument %d", i))
	}
	for _, kv := range env {
		name, _ := nameOf(kv)
		count(kv, fmt.Sprintf("variable %q", name))
	}
	why := fmt.Sprintf("arguments and environment have %d bytes in total, more than the system accepts", total)
	if most >= perString {
		why = fmt.Sprintf("%s has %d bytes, and the system accepts at most %d in one argument", what, most, perString-1)
	}
	return diag.New(diag.ExecutionFailed, "starting program %q: %s", path, why).
		WithDetail("return_code", 126).
		WithDetail("command", path).
		WithDetail("bytes", total).
		WithDetail("largest", what).
		WithReason("too_long")
}

// cause returns the error without the operation and path that os adds.
func cause(err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Err returns nil for exit status 0, else an error with the facts of r: TIMEOUT,
// CANCELLED or EXECUTION_FAILED. It begins with what, for example "running tool x".
func (r Result) Err(what string) error {
	var e *diag.Error
	switch {
	case r.TimedOut:
		e = diag.New(diag.Timeout, "%s: stopped after %s", what, r.Duration.Round(1e6))
	case r.Cancelled:
		e = diag.New(diag.Cancelled, "%s: cancelled", what)
	case r.Signal != "":
		e = diag.New(diag.ExecutionFailed, "%s: ended by %s", what, r.Signal).WithDetail("signal", r.Signal)
	case r.ExitCode != 0:
		e = diag.New(diag.ExecutionFailed, "%s: exit status %d", what, r.ExitCode)
	default:
		return nil
	}
	return e.WithDetail("return_code", r.ExitCode)
}
