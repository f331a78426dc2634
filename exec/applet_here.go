package exec

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/internal/proc"
)

// reading are the applets that read one file or one directory: their work ends soon, and
// they start nothing and write nothing.
var reading = []string{"read", "ls"}

// changing are the applets that change files as their parameters state.
var changing = []string{"write", "edit_lines"}

// appletOf returns the name of the applet that a plan starts and that Params.Applet can
// run instead, or "". Nothing in the plan may apply to the process that is left out.
func (e *Executor) appletOf(p *Plan) string {
	if e.p.Applet == nil ||
		p.Program != e.p.Self ||
		len(p.Argv) != 3 ||
		p.Argv[1] != "applet" ||
		p.Sandbox == nil {
		return ""
	}
	if p.MaxOutput > 0 && p.MaxOutput < proc.DefaultMaxOutput ||
		p.Chain.asksForBroker() ||
		len(p.copies) > 0 {
		return ""
	}
	return p.Argv[2]
}

// exitOwnProcess is the exit status of an applet whose work needs a process of its own, such
// as decoding an image. Package wire, which exec does not import, has the same number.
const exitOwnProcess = 76

// runHere runs a plan of an applet that only reads, in this process. The same code checks
// the same boundary, without a sandbox around it, as in a process of its own; the start of
// that costs twenty times what the work does. The result is nil if the work needs a process
// of its own.
func (e *Executor) runHere(ctx context.Context, p *Plan, name string) (*Result, error) {
	applied, _, err := e.confined(ctx, p.Sandbox, nil)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	within := ctx
	if p.Timeout > 0 {
		var stop context.CancelFunc
		within, stop = context.WithTimeout(ctx, p.Timeout)
		defer stop()
	}
	began := time.Now()
	ended := make(chan int, 1)
	go func() {
		ended <- e.p.Applet(within, e.appletCall(p, name, &out))
	}()
	r := &Result{Sandbox: applied}
	var res proc.Result
	select {
	case r.ReturnCode = <-ended:
		r.Stdout = out.Bytes()
	case <-within.Done(): // a file system that does not answer: the applet gets no more time
		r.ReturnCode = -1
		res.Cancelled = ctx.Err() != nil
		res.TimedOut = !res.Cancelled
	}
	if r.ReturnCode == exitOwnProcess {
		return nil, nil
	}
	r.Duration = time.Since(began)
	r.showResult(p.OnLine)
	return r, r.failure(p, res)
}

// appletCall returns the call of an applet in this process, with what its own process
// would get.
func (e *Executor) appletCall(p *Plan, name string, out *bytes.Buffer) AppletCall {
	project, _ := proc.Lookup(p.Env, projectVar)
	return AppletCall{
		Name:   name,
		Stdin:  p.Stdin,
		Stdout: out,
		Dir:    cmp.Or(project, p.Dir),
		Env:    p.Env,
	}
}

// showResult passes the output of an applet on and reads the result from it.
func (r *Result) showResult(onLine func(proc.Stream, []byte)) {
	if onLine != nil {
		onLine(proc.Stdout, bytes.TrimSuffix(r.Stdout, []byte("\n")))
	}
	r.Data = resultData(r.Stdout, false)
}

// onlyReads reports whether an applet is one that runHere runs.
func onlyReads(p *Plan, name string) bool {
	return p.Sandbox.Applet && slices.Contains(reading, name)
}
