package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

// afterKill is the time that pipes may stay open after the group was killed: on a busy
// machine a killed process ends some time later.
const afterKill = time.Second

// Run starts c in a process group of its own, waits for its end and returns the
// outcome. A failing program is a Result, not an error; Result.Err converts it. An
// error means that no program was started, reading Stdin failed, or the program
// could not be ended.
//
// After Timeout or the end of ctx the group receives SIGTERM, and after Grace
// SIGKILL. If the program ends by itself, descendants that have its outputs open
// may run for Grace, then the rest of the group is killed. On Windows the group is
// a job object, SIGTERM is CTRL_BREAK, and a child started before the job was
// attached is not in it.
//
// If this process is killed, the group ends on Windows, the program ends on Linux,
// and both continue elsewhere.
func Run(ctx context.Context, c Cmd) (Result, error) {
	if ctx.Err() != nil {
		streams{theirs: c.Files}.closeTheirs()
		r := &run{}
		r.ended(ctx)
		r.res.ExitCode = -1
		return r.res, nil
	}
	r, err := start(ctx, c)
	if err != nil {
		return Result{}, err
	}
	err = r.supervise(ctx)
	return r.res, err
}

// run is one running program.
type run struct {
	c        Cmd
	began    time.Time
	p        *os.Process
	group    group
	wait     waiter
	exited   chan struct{}
	gone     chan struct{} // the process can be reaped
	out, err *collector
	feed     chan error // receives the error of reading Stdin; nil without Stdin
	res      Result
}

func start(ctx context.Context, c Cmd) (*run, error) {
	path, env, err := c.resolve()
	if err != nil {
		streams{theirs: c.Files}.closeTheirs()
		return nil, err
	}
	r := &run{c: c, exited: make(chan struct{}), gone: make(chan struct{})}
	s, err := openStreams(c)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening pipes: %w", err)
	}
	r.began = time.Now()
	r.p, err = spawn(ctx, path, c, env, s.theirs)
	s.closeTheirs()
	if err != nil {
		s.closeOurs()
		return nil, unstartable(path, c, env, err)
	}
	r.group = newGroup(r.p, c.Job)
	if c.OnStart != nil {
		c.OnStart(r.p.Pid)
	}
	r.wait = waiter{p: r.p}
	r.serve(s)
	return r, nil
}

// resolve returns the program's file and its environment.
func (c Cmd) resolve() (path string, env []string, err error) {
	if len(c.Argv) == 0 {
		return "", nil, diag.New(diag.ExecutionFailed, "starting program: no command")
	}
	for i, a := range c.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return "", nil, diag.New(diag.ExecutionFailed, "starting program %q: argument %d contains NUL", c.Argv[0], i)
		}
	}
	if env, err = checked(c.Env); err != nil {
		return "", nil, err
	}
	if path = c.Path; path == "" {
		if path, err = LookPath(c.Argv[0], env); err != nil {
			return "", nil, err
		}
	}
	return path, env, checkBatch(path, c.Argv)
}

// inherited runs keepInherited once: descriptors of this process itself are marked when
// they are opened.
var inherited sync.Once

// spawn starts the program. A file that was just written can be busy for a moment,
// while a process forked elsewhere has its descriptor open: spawn tries again.
func spawn(
	ctx context.Context,
	path string,
	c Cmd,
	env []string,
	files []*os.File,
) (*os.Process, error) {
	if c.Spawn != nil {
		inherited.Do(keepInherited)
		return c.Spawn(files)
	}
	attr := attributes(c, env, files)
	for pause := time.Millisecond; ; pause *= 2 {
		p, err := os.StartProcess(path, c.Argv, attr)
		if err == nil || !isBusy(err) || pause > 200*time.Millisecond {
			return p, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// attributes returns how a program is started: no descriptor but files reaches it.
func attributes(c Cmd, env []string, files []*os.File) *os.ProcAttr {
	inherited.Do(keepInherited)
	attr := &os.ProcAttr{
		Dir:   c.Dir,
		Env:   env,
		Files: files,
		Sys:   groupAttr(c.Orderly),
	}
	if c.Attr != nil {
		c.Attr(attr.Sys)
	}
	return attr
}

// StartSelf starts the file of this process, which nothing writes to, so it tries once. It does
// not supervise the program.
func StartSelf(self string, c Cmd, files []*os.File) (*os.Process, error) {
	return os.StartProcess(self, c.Argv, attributes(c, c.Env, files))
}

// serve starts the goroutines that feed, drain and wait.
func (r *run) serve(s streams) {
	var mu sync.Mutex
	lines := func(stream Stream) *lineCutter {
		if r.c.OnLine == nil {
			return nil
		}
		return &lineCutter{mu: &mu, fn: r.c.OnLine, stream: stream}
	}
	r.out = newCollector(s.out, r.c.MaxStdout, lines(Stdout))
	r.err = newCollector(s.err, r.c.MaxStderr, lines(Stderr))
	r.out.raw = r.c.OnStdout
	go r.out.drain()
	go r.err.drain()
	if s.in != nil {
		r.feed = make(chan error, 1)
		go feed(s.in, r.c.Stdin, r.feed)
	}
	go func() {
		r.wait.exited()
		close(r.gone)
	}()
	go func() {
		select {
		case <-r.gone:
		case <-r.c.Ended:
		}
		if r.c.OnExit != nil {
			r.c.OnExit()
		}
		close(r.exited)
	}()
}

// feed copies src to the program. A program may stop reading. An error of src is
// reported, because the program received a premature end of input.
func feed(w *os.File, src io.Reader, broken chan<- error) {
	in := &source{r: src}
	io.Copy(w, in)
	if in.err != nil {
		broken <- in.err
	}
	w.Close()
}

// source records the error of its reader.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// supervise waits for the end of the program, or ends it.
func (r *run) supervise(ctx context.Context) error {
	var late <-chan time.Time
	if r.c.Timeout > 0 {
		t := time.NewTimer(r.c.Timeout)
		defer t.Stop()
		late = t.C
	}
	broken := r.await(ctx, late)
	cut := ctx.Done()
	deadline := time.Now().Add(r.grace(ctx))
	var stuck error
	if r.res.TimedOut || r.res.Cancelled || broken != nil {
		// the group is being stopped already
		cut = nil
		late = nil
		stuck = r.stop(deadline)
	}
	r.res.Duration = time.Since(r.began)
	r.drain(deadline, cut, late)
	r.finish(stuck == nil)
	if stuck == nil && broken != nil {
		return diag.New(diag.ExecutionFailed, "feeding stdin: %w", broken)
	}
	return stuck
}

// await returns when the program has ended or must be ended. Its error is an error of
// reading Stdin.
func (r *run) await(ctx context.Context, late <-chan time.Time) error {
	select {
	case <-r.exited:
	case <-late:
		r.res.TimedOut = true
	case <-ctx.Done():
		r.ended(ctx)
	case err := <-r.feed:
		return err
	}
	select {
	case err := <-r.feed: // an input that ended early can be why the program ended
		return err
	default:
		return nil
	}
}

func (r *run) ended(ctx context.Context) {
	r.res.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	r.res.Cancelled = !r.res.TimedOut
}

func (r *run) grace(ctx context.Context) time.Duration {
	grace := r.c.Grace
	if ctx.Err() != nil && r.c.CancelGrace != 0 {
		grace = r.c.CancelGrace
	}
	if grace == 0 {
		return DefaultGrace
	}
	return max(grace, 0)
}

// stop ends the group with SIGTERM, then SIGKILL. A program of another user may
// not end: that is an error.
func (r *run) stop(deadline time.Time) error {
	r.group.terminate()
	if within(time.Until(deadline), r.exited) {
		return nil
	}
	r.group.kill()
	if within(DefaultGrace, r.exited) {
		return nil
	}
	return diag.New(diag.ExecutionFailed, "stopping program: process %d does not end", r.p.Pid).
		WithDetail("pid", r.p.Pid)
}

// drain waits for the end of both outputs, kills the rest of the group, and closes
// outputs that are still open then. The program is reaped only after this, so that
// its group number is not reused before the kill.
func (r *run) drain(deadline time.Time, cut <-chan struct{}, late <-chan time.Time) {
	both := make(chan struct{})
	go func() {
		<-r.out.done
		<-r.err.done
		close(both)
	}()
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-both:
	case <-t.C:
	case <-cut:
	case <-late:
	}
	r.group.kill()
	if !r.drained(both) {
		r.res.Orphans = true
		r.out.r.Close()
		r.err.r.Close()
		<-both
	}
}

// maxPipe is the largest content of a pipe that a program without privileges can have.
const maxPipe = 1 << 20

// drained waits for both outputs after the group was killed, and reports whether they ended. An
// output that is still read is not held open by an orphan: a slow callback has up to a pipe of
// each output before it, which would be lost. More than that comes from an orphan.
func (r *run) drained(both <-chan struct{}) bool {
	begun := r.out.read.Load() + r.err.read.Load()
	last := begun
	for !within(afterKill, both) {
		now := r.out.read.Load() + r.err.read.Load()
		moves := now != last || r.out.busy.Load() || r.err.busy.Load()
		if !moves || now-begun > 2*maxPipe {
			return false
		}
		last = now
	}
	return true
}

// finish reaps the program and fills in the result.
func (r *run) finish(reap bool) {
	r.out.r.Close()
	r.err.r.Close()
	r.res.Stdout = r.out.kept
	r.res.StdoutDropped = r.out.dropped
	r.res.Stderr = r.err.kept
	r.res.StderrDropped = r.err.dropped
	r.res.ExitCode = -1
	select {
	case <-r.gone:
	case <-r.c.Ended:
		reap = false
		go func() {
			<-r.gone
			_, _ = r.wait.reap()
		}()
	default:
	}
	if reap {
		if state, err := r.wait.reap(); err == nil {
			r.res.CPU = state.UserTime() + state.SystemTime()
			r.res.ExitCode, r.res.Signal = status(state)
			r.res.MaxRSS = r.group.maxRSS(state)
		}
	}
	r.group.close()
}

// within reports whether done closes in d.
func within(d time.Duration, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}
