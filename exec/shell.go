package exec

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/proc"
)

// shellApplet is the applet whose only work is to start one program and to describe its
// end.
const shellApplet = "bash"

// maxShell is the time that shellApplet gives its program at most, with what it needs to
// end it.
const maxShell = 630 * time.Second

// AppletCall is a call of an applet in this process.
type AppletCall struct {
	Name   string
	Stdin  []byte
	Stdout io.Writer
	Live   io.Writer // receives lines of progress; nil means none
	Dir    string
	Env    []string
	// Run starts the program of the applet in the sandbox of the plan.
	Run func(context.Context, proc.Cmd) (proc.Result, error)
}

// direct reports whether the program of shellApplet starts without a process of rye
// around it, which costs as much as the sandbox. The program is confined in the same
// way, and what reads the parameters and writes the result is the same code. It must be
// found at the same path inside the sandbox.
func (e *Executor) direct(p *Plan) bool {
	c := p.Sandbox
	if c.Unconfined || c.Rung != string(sandbox.Strict) && c.Rung != string(sandbox.Landlock) {
		return false
	}
	if p.Timeout < maxShell || !c.grants.execAny {
		return false
	}
	path, err := proc.LookPath(shellApplet, p.Env)
	if err != nil {
		return false
	}
	g := e.grant(c)
	return g.contains(real(p.Dir)) &&
		inSystem(path) &&
		inSystem(real(path))
}

func inSystem(path string) bool {
	return slices.ContainsFunc(systemDirs(), func(dir string) bool {
		return within(path, dir)
	})
}

// runShell runs a plan of shellApplet: the applet in this process, its program in the
// sandbox.
func (e *Executor) runShell(ctx context.Context, p *Plan) (*Result, error) {
	doing := "running " + p.Chain.Tool().Ref.String()
	r := &Result{}
	var stopped, failed error
	var ended proc.Result // as r.failure needs it: the timeout of the command is part of the result
	run := func(ctx context.Context, cmd proc.Cmd) (proc.Result, error) {
		cmd.CancelGrace = 0 // the helper ends all processes within Grace
		began := time.Now()
		grace := cmp.Or(cmd.Grace, proc.DefaultGrace)
		exited := make(chan time.Time, 1)
		cmd.OnExit = func() { exited <- time.Now() }
		applied, finish, err := e.confined(ctx, p.Sandbox, &cmd)
		if err != nil {
			failed = err
			return proc.Result{}, err
		}
		res, err := proc.Run(ctx, cmd)
		if err != nil {
			failed = cmp.Or(finish(nil), err)
			return proc.Result{}, failed
		}
		stopped = finish(&res)
		select {
		case at := <-exited: // children that kept the outputs open were given Grace to end
			res.Orphans = !res.TimedOut && !res.Cancelled && time.Since(at) >= grace
			res.Duration = at.Sub(began)
		default:
		}
		r.Sandbox, r.Usage = applied, Usage{CPU: res.CPU.Milliseconds(), MaxRSS: res.MaxRSS}
		ended.Cancelled, ended.TimedOut = res.Cancelled, res.TimedOut && ctx.Err() != nil
		return res, nil
	}
	var out bytes.Buffer
	call := e.appletCall(p, shellApplet, &out)
	call.Run = run
	if p.OnLine != nil {
		call.Live = liveLines(p.OnLine)
	}
	began := e.p.Now()
	r.ReturnCode = e.p.Applet(ctx, call)
	if failed != nil || sandboxFailure(stopped) {
		return nil, diag.Doing(doing, cmp.Or(failed, stopped))
	}
	r.Duration, r.Stdout = e.p.Now().Sub(began), out.Bytes()
	r.showResult(p.OnLine)
	if stopped != nil {
		return r, diag.Doing(doing, stopped)
	}
	return r, r.failure(p, ended)
}

// liveLines passes lines of progress on as proc.Live.
type liveLines func(proc.Stream, []byte)

// Write implements io.Writer for one line with proc.LiveMark.
func (l liveLines) Write(b []byte) (int, error) {
	line := bytes.TrimSuffix(
		bytes.TrimPrefix(b, []byte(proc.LiveMark)),
		[]byte("\n"),
	)
	l(proc.Live, line)
	return len(b), nil
}
