package applet

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// Limits of bash.
const (
	bashTimeout    = 120
	maxBashTimeout = 600
	maxStream      = 51_200
	bashGrace      = 2 * time.Second
	// cancelGrace is shorter than what any caller leaves an applet, which would
	// otherwise be killed before what it has started.
	cancelGrace = 400 * time.Millisecond
)

type bashResult struct {
	Success    bool   `json:"success"`
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out,omitempty"`
	Note       string `json:"note,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Truncated  bool   `json:"truncated"`
	Output     string `json:"output"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`

	Error *errorBody `json:"error,omitempty"`
}

func (r bashResult) succeeded() bool { return r.Success }

// bashCall is what the caller asked for.
type bashCall struct {
	command string
	timeout time.Duration
	dir     string // absolute
}

// runBash runs a command line in a shell of its own process group, with the
// environment that rye was given and nothing on stdin.
//
// The order of output is the order in which lines were read from two pipes:
// lines written at the same instant to stdout and stderr may change places.
// Background processes end with the command, after a short grace.
func runBash(ctx context.Context, p Params, in map[string]any) (any, error) {
	c, err := bashParams(p, in)
	if err != nil {
		return nil, err
	}
	env := p.Environ()
	shell, err := proc.LookPath("bash", env)
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "running command: no bash in PATH").
			WithHint("install bash, or name a PATH that holds it").WithDetail("exit_code", 127)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out outputs
	now := newLive(p.Stderr, cancel)
	res, err := proc.Run(ctx, proc.Cmd{
		Path: shell, Argv: []string{"bash", "-c", "--", c.command}, Dir: c.dir, Env: env,
		Timeout: c.timeout, Grace: bashGrace, CancelGrace: cancelGrace,
		MaxStdout: maxStream, MaxStderr: maxStream,
		OnLine: func(s proc.Stream, line []byte) { out.line(s, line); now.line(line) },
	})
	now.stop()
	if err != nil {
		return nil, err
	}
	if res.Cancelled {
		return nil, cancelled("running command", context.Canceled)
	}
	return out.result(c, res), nil
}

func bashParams(p Params, in map[string]any) (bashCall, error) {
	a := newArgs(in, "command", "timeout", "working_dir")
	c := bashCall{command: a.need("command")}
	seconds := a.number("timeout", bashTimeout, 0.001, maxBashTimeout)
	dir := a.str("working_dir", ".")
	if err := a.err(); err != nil {
		return c, err
	}
	c.timeout = time.Duration(seconds * float64(time.Second))
	return c, c.enter(p, dir)
}

// enter finds the working directory in the project.
func (c *bashCall) enter(p Params, dir string) error {
	pr, err := openProject(p)
	if err != nil {
		return err
	}
	defer pr.close()
	s, err := pr.find(dir)
	if err != nil {
		return err
	}
	defer s.close()
	if s.info == nil || !s.info.IsDir() {
		return diag.New(diag.FileSystemError, "running command: working_dir %q is no folder of the project", dir)
	}
	c.dir = filepath.Join(pr.real, filepath.FromSlash(s.rel))
	return nil
}

// result words what happened.
func (o *outputs) result(c bashCall, r proc.Result) bashResult {
	b := bashResult{
		Success: r.ExitCode == 0 && !r.TimedOut, ExitCode: r.ExitCode, Signal: r.Signal, TimedOut: r.TimedOut,
		DurationMS: r.Duration.Milliseconds(),
	}
	var cut [3]bool
	b.Stdout, cut[0] = o.out.stream(r.Stdout, r.StdoutDropped)
	b.Stderr, cut[1] = o.err.stream(r.Stderr, r.StderrDropped)
	b.Output, cut[2] = o.both(r)
	b.Truncated = cut[0] || cut[1] || cut[2]
	if r.Orphans {
		b.Note = "a background process still held the output and was cut off"
	}
	if r.TimedOut {
		b.Error = bashError(diag.Timeout, "the command ran longer than "+c.timeout.String()+" and was stopped with all its processes",
			"raise timeout (at most 600), or start less work")
	} else if !b.Success {
		b.Error = bashError(diag.ExecutionFailed, "the command failed: "+exitText(r), "the end of stderr tells why")
	}
	return b
}

func bashError(code diag.Code, message, hint string) *errorBody {
	return &errorBody{Code: code, Message: message, Suggestion: hint}
}
