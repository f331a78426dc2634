// Package shell has the applet bash: it runs a command line in a process group
// of its own and returns its output.
//
// It does not restrict the command. The sandbox does, before this process
// starts.
//
// The item rye/bash/bash is offline, as every T3 item without the key. A copy of it in the
// project or the user space can permit a network. Its caches are in {cache}.
package shell

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/proc"
)

// Limits of bash.
const (
	defaultTimeout = 120       // seconds
	maxTimeout     = 600       // seconds
	maxStream      = 400 << 10 // bytes of stdout, and of stderr
	maxMixed       = 51_200    // bytes of both as one text
)

// Applets returns the applets by name.
// Of all applets, bash and lsp are in the sandbox, because they start programs. The code of the
// others keeps them in the project and to public hosts; their results state the rung "applet".
func Applets() map[string]wire.Func {
	return map[string]wire.Func{"bash": runBash}
}

type bashResult struct {
	Success    bool    `json:"success"`
	ExitCode   int     `json:"exit_code"`
	Signal     string  `json:"signal,omitempty"`
	TimedOut   bool    `json:"timed_out,omitempty"`
	Note       string  `json:"note,omitempty"`
	DurationMS int64   `json:"duration_ms"`
	Truncated  bool    `json:"truncated"`
	Output     string  `json:"output"`
	Stdout     *string `json:"stdout,omitempty"` // nil: only Output was requested
	Stderr     *string `json:"stderr,omitempty"`

	Error *wire.Error `json:"error,omitempty"`
}

// Succeeded reports whether the command ended with status 0 in time.
func (r bashResult) Succeeded() bool {
	return r.Success
}

// bashCall is the decoded parameters.
type bashCall struct {
	command string
	timeout time.Duration
	dir     string // absolute
	mixed   bool   // return both streams as one text only
}

// runBash runs a command line with the environment of this process and nothing
// on stdin.
//
// The order of the combined output is the order in which lines were read from
// two pipes: lines written at the same time to stdout and stderr may be swapped.
// Background processes end with the command, after wire.Grace.
func runBash(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	c, err := decodeBash(p, in)
	if err != nil {
		return nil, err
	}
	env := p.Environ()
	shell, err := proc.LookPath("bash", env)
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "running command: no bash in PATH").WithDetail("exit_code", 127)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := newOutputs()
	progress := newProgress(p.Stderr, cancel)
	res, err := p.Run(ctx, proc.Cmd{
		Path:        shell,
		Argv:        []string{"bash", "-c", "--", c.command},
		Dir:         c.dir,
		Env:         env,
		Timeout:     c.timeout,
		Grace:       wire.Grace,
		CancelGrace: wire.CancelGrace,
		MaxStdout:   maxStream,
		MaxStderr:   maxStream,
		OnLine:      func(s proc.Stream, line []byte) { out.line(s, line); progress.line(line) },
	})
	progress.stop()
	if err != nil {
		return nil, err
	}
	if res.Cancelled {
		return nil, wire.Cancelled("running command", context.Canceled)
	}
	return out.result(c, res), nil
}

func decodeBash(p wire.Params, in map[string]any) (bashCall, error) {
	a := wire.NewArgs(in, "command", "timeout", "working_dir", "interleaved")
	c := bashCall{command: a.Required("command")}
	seconds := a.Number("timeout", defaultTimeout, 0.001, maxTimeout)
	dir := a.String("working_dir", ".")
	c.mixed = a.Bool("interleaved")
	if err := a.Err(); err != nil {
		return c, err
	}
	c.timeout = time.Duration(seconds * float64(time.Second))
	return c, c.enter(p, dir)
}

// enter sets the working directory, which must be in the project.
func (c *bashCall) enter(p wire.Params, dir string) error {
	project, err := files.OpenDir(p)
	if err != nil {
		return err
	}
	defer project.Close()
	e, err := project.Find(dir)
	if err != nil {
		return err
	}
	defer e.Close()
	if e.Info == nil || !e.Info.IsDir() {
		return diag.New(diag.FileSystemError, "running command: working_dir %q is not a directory of the project", dir)
	}
	c.dir = project.Path(e.Rel)
	return nil
}

// result renders the end of the command.
func (o *outputs) result(c bashCall, r proc.Result) bashResult {
	b := bashResult{
		Success:    r.ExitCode == 0 && !r.TimedOut,
		ExitCode:   r.ExitCode,
		Signal:     r.Signal,
		TimedOut:   r.TimedOut,
		DurationMS: r.Duration.Milliseconds(),
	}
	var cutOut, cutErr, cutBoth bool
	if !c.mixed {
		var stdout, stderr string
		stdout, cutOut = o.out.stream(r.Stdout, r.StdoutDropped)
		stderr, cutErr = o.err.stream(r.Stderr, r.StderrDropped)
		b.Stdout = &stdout
		b.Stderr = &stderr
	}
	b.Output, cutBoth = o.both(r)
	b.Truncated = cutOut || cutErr || c.mixed && cutBoth
	if r.Orphans {
		b.Note = "a background process kept the output open and was stopped"
	}
	if r.TimedOut {
		b.Error = &wire.Error{Code: diag.Timeout,
			Message: "the command and its processes were stopped after the timeout of " + c.timeout.String() + "; the maximum is 600 s"}
	} else if !b.Success {
		b.Error = &wire.Error{Code: diag.ExecutionFailed, Message: "the command failed: " + wire.Ending(r)}
	}
	return b
}
