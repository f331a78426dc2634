package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

const (
	// maxRunning is the number of calls of all clients that run at once: each may
	// be a program with unlimited memory.
	maxRunning = 64
	// maxWaiting is the number of calls that wait for a running one to end.
	maxWaiting = 256
)

// errShutdown is the cause of the cancellation of a call by a server that ends.
var errShutdown = errors.New("the server ends")

// calls are the calls that run or wait. The SDK starts every call at once, and a
// server that ends does not cancel its handlers or wait for them: the program of
// a tool would outlive the server.
//
// Calls that run when the input ends have half a second to finish, so that requests can come
// from a file.
type calls struct {
	slots chan struct{} // one element for each running call
	limit int           // of running and waiting calls

	mu       sync.Mutex
	shutdown bool
	next     int
	running  map[int]running
	ending   map[string]bool // sessions
	idle     chan struct{}   // closed when nothing runs, after shutdown
}

type running struct {
	session string // "" without one
	cancel  context.CancelCauseFunc
}

func newCalls(run, wait int) *calls {
	return &calls{
		slots:   make(chan struct{}, run),
		limit:   run + wait,
		running: map[int]running{},
		ending:  map[string]bool{},
		idle:    make(chan struct{}),
	}
}

// begin waits until a call may run and returns its context; done must be called
// when the call ends. Before waiting it calls onWait, which may be nil. An error
// means that the call must not run.
func (c *calls) begin(
	ctx context.Context,
	session string,
	onWait func(),
) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	id, err := c.add(session, cancel)
	if err != nil {
		cancel(err)
		return nil, nil, err
	}
	remove := func() {
		cancel(nil)
		c.remove(id)
	}
	select {
	case c.slots <- struct{}{}:
	default:
		if onWait != nil {
			onWait()
		}
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			err := diag.New(diag.Cancelled, "waiting for other calls to end: %w", context.Cause(ctx))
			remove()
			return nil, nil, err
		}
	}
	return ctx, func() {
		<-c.slots
		remove()
	}, nil
}

func (c *calls) add(session string, cancel context.CancelCauseFunc) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.shutdown || c.ending[session]:
		return 0, diag.New(diag.Cancelled, "starting a call: %w", errShutdown)
	case len(c.running) >= c.limit:
		text := fmt.Sprintf("%d calls run", cap(c.slots))
		if waiting := c.limit - cap(c.slots); waiting > 0 {
			text += fmt.Sprintf(" and %d wait", waiting)
		}
		e := diag.New(diag.LimitExceeded, "starting a call: %s already", text).WithReason("busy")
		e.Retryable = true
		return 0, e
	}
	id := c.next
	c.next++
	c.running[id] = running{session, cancel}
	return id, nil
}

func (c *calls) remove(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
	if c.shutdown && len(c.running) == 0 {
		close(c.idle)
	}
}

// inSession reports whether a session has calls that run or wait.
func (c *calls) inSession(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.running {
		if r.session == session {
			return true
		}
	}
	return false
}

// stop cancels every call, refuses new ones and waits at most d for the running
// ones. It reports whether all have ended.
func (c *calls) stop(d time.Duration) bool {
	c.cancelAll()
	select {
	case <-c.idle:
		return true
	case <-time.After(d):
		return false
	}
}

func (c *calls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shutdown {
		return
	}
	c.shutdown = true
	for _, r := range c.running {
		r.cancel(errShutdown)
	}
	if len(c.running) == 0 {
		close(c.idle)
	}
}

// cancelSession cancels the calls of one session and refuses new ones until
// closed is called. Without it the SDK waits for the calls when it closes the
// session.
func (c *calls) cancelSession(session string) (closed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending[session] = true
	for _, r := range c.running {
		if r.session == session {
			r.cancel(errShutdown)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ending, session)
	}
}
