package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
)

// Limits of what a server may send.
const (
	MaxMessage = 16 << 20 // bytes of one message
	keptStderr = 8 << 10  // bytes of the end of stderr
)

// stopGrace is the time that a server has to end after the end of its input, and
// again after the signal to terminate.
const stopGrace = 900 * time.Millisecond

// program is a server that this process started. It implements mcp.Transport and
// mcp.Connection, with one message per line. Other lines, such as a banner, are
// skipped.
type program struct {
	stdin   *io.PipeWriter
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the process is gone, with all its group
	result  proc.Result   // after ended
	err     error         // after ended: why it could not be started
	applied *exec.Sandbox // nil without a sandbox
	ours    bool          // after ended: this process ended it

	messages chan jsonrpc.Message
	closed   chan struct{}
	once     sync.Once
	write    sync.Mutex

	probe *probe

	mu      sync.Mutex
	lines   lineReader // of stdout
	tail    []byte     // the end of stderr
	written int64      // bytes of stderr in total
	fault   error      // why its output is no longer read

	skipped, lastSkipped string // the first and last line of stdout that was not a message
	skips                int    // the number of such lines
}

// startProgram starts a server. It runs until Close or the end of ctx. confine changes
// the command before.
func startProgram(
	ctx context.Context,
	c proc.Cmd,
	ask *probe,
	confine func(*proc.Cmd) (*exec.Sandbox, func(*proc.Result) error, error),
) *program {
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	p := &program{
		stdin:    w,
		cancel:   cancel,
		ended:    make(chan struct{}),
		messages: make(chan jsonrpc.Message),
		closed:   make(chan struct{}),
		probe:    ask,
	}
	c.Stdin = r
	c.OnStdout = p.output
	c.MaxStdout = -1
	c.MaxStderr = -1
	c.Grace = stopGrace
	c.OnLine = p.stderr
	applied, finish, err := confine(&c)
	p.applied = applied
	go func() {
		p.run(ctx, c, finish, err)
		p.ours = p.result.Cancelled || isClosed(p.closed)
		_ = r.CloseWithError(io.ErrClosedPipe) // a pending write must not block
		close(p.ended)
	}()
	return p
}

// run runs the program to its end.
func (p *program) run(
	ctx context.Context,
	c proc.Cmd,
	finish func(*proc.Result) error,
	err error,
) {
	if err != nil {
		p.err = err
		return
	}
	if p.result, p.err = proc.Run(ctx, c); p.err != nil {
		p.err = cmp.Or(finish(nil), p.err)
		return
	}
	p.err = finish(&p.result)
}

// Connect implements mcp.Transport.
func (p *program) Connect(context.Context) (mcp.Connection, error) {
	return p, nil
}

// SessionID implements mcp.Connection.
func (p *program) SessionID() string {
	return ""
}

// Read implements mcp.Connection.
func (p *program) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-p.messages:
		return m, nil
	case m := <-p.probe.answer:
		return m, nil
	case <-p.ended:
	case <-p.closed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, io.EOF
}

// Write implements mcp.Connection.
func (p *program) Write(ctx context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	p.probe.sent(m)
	p.write.Lock()
	defer p.write.Unlock()
	stop := context.AfterFunc(ctx, func() { // a server that does not read must not block the caller
		_ = p.stdin.CloseWithError(ctx.Err())
	})
	defer stop()
	_, err = p.stdin.Write(append(b, '\n'))
	return err
}

// Close ends the server and everything that it started: it closes the input, then
// sends the signal to terminate, then kills.
func (p *program) Close() error {
	p.once.Do(func() {
		close(p.closed)
		_ = p.stdin.Close()
		t := time.NewTimer(stopGrace)
		defer t.Stop()
		select {
		case <-p.ended:
		case <-t.C:
		}
		p.cancel()
		<-p.ended
	})
	return nil
}

// output receives what the server writes to stdout.
func (p *program) output(b []byte) {
	p.mu.Lock()
	lines, err := p.lines.add(b)
	if err != nil && p.fault == nil {
		p.fault = err
		p.cancel()
	}
	p.mu.Unlock()
	for _, line := range lines {
		if m := p.message(line); m != nil {
			select {
			case p.messages <- m:
			case <-p.closed:
				return
			}
		}
	}
}

// message returns the message of a line, or nil if the line is not a message or is
// a late answer.
func (p *program) message(line []byte) jsonrpc.Message {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
	if len(line) == 0 {
		return nil
	}
	if m, err := jsonrpc.DecodeMessage(readable(line)); err == nil {
		if p.probe.late(m) {
			return nil
		}
		return m
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skips++
	p.lastSkipped = quoted(string(line))
	if p.skips == 1 {
		p.skipped = p.lastSkipped
	}
	return nil
}

// stderr keeps the end of the server's stderr.
func (p *program) stderr(s proc.Stream, line []byte) {
	if s != proc.Stderr {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written += int64(len(line)) + 1
	p.tail = append(append(p.tail, line...), '\n')
	if over := len(p.tail) - keptStderr; over > 0 {
		p.tail = append(p.tail[:0], p.tail[over:]...)
	}
}

// state returns why the server ended or is no longer read, nil if neither.
func (p *program) state() (why error) {
	if p.dead() {
		why = p.why()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault != nil {
		why = p.fault
	}
	return why
}

// dead reports whether the process is gone.
func (p *program) dead() bool {
	return isClosed(p.ended)
}

// failed reports whether the process ended by itself or its output is invalid.
func (p *program) failed() bool {
	p.mu.Lock()
	given := p.fault != nil
	p.mu.Unlock()
	return given || p.dead() && !p.ours
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (p *program) why() error {
	switch {
	case p.err != nil:
		return p.err
	case p.result.Signal != "":
		return diag.New(diag.ExecutionFailed, "it was ended by %s", p.result.Signal)
	}
	return diag.New(diag.ExecutionFailed, "it ended with exit status %d", p.result.ExitCode)
}

// ending describes the end of the process. early is true before the first answer.
func (p *program) ending(what string, why error, early bool) *diag.Error {
	e := diag.New(diag.ExecutionFailed, "%s: %w", what, why)
	var known *diag.Error
	if errors.As(why, &known) {
		e.Reason = known.Reason
		e.Details = maps.Clone(known.Details)
	}
	if !early || !p.dead() || p.err != nil {
		return e
	}
	e.Message += " before it answered"
	if stderr, _ := p.since(moment{}); stderr == "" {
		e.Reason = "not_mcp"
	}
	return e
}

// lineReader splits output into lines of at most MaxMessage bytes.
type lineReader struct{ part []byte }

func (l *lineReader) add(b []byte) (lines [][]byte, err error) {
	for {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		if len(l.part)+len(line) > MaxMessage {
			l.part = nil
			return lines, diag.New(diag.TooLarge, "it sent a message of more than %d bytes", MaxMessage)
		}
		l.part = append(l.part, line...)
		if !found {
			return lines, nil
		}
		lines = append(lines, l.part)
		l.part = nil
		b = rest
	}
}
