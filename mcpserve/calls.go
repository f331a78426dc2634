package mcpserve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
)

const (
	// maxRunning is how many calls of all clients run at once: each may be a
	// program with as much memory as it likes.
	maxRunning = 64
	// maxWaiting is how many more may wait for one of them to end.
	maxWaiting = 256
)

// errLeaving is why a call ends when its server does.
var errLeaving = errors.New("the server ends")

// calls are the calls that run, and those that wait until they may. The SDK
// starts every call at once, ends no handler when a server ends, and does not
// wait for one: a program that a handler has started would outlive it.
type calls struct {
	slots chan struct{} // one for each that runs
	most  int           // that run and wait

	mu      sync.Mutex
	leaving bool
	next    int
	running map[int]running
	ending  map[string]bool // sessions
	none    chan struct{}   // closed when nothing runs any more, after leave
}

type running struct {
	session string // "" without one
	cancel  context.CancelCauseFunc
}

func newCalls(run, wait int) *calls {
	return &calls{
		slots: make(chan struct{}, run), most: run + wait,
		running: map[int]running{}, ending: map[string]bool{}, none: make(chan struct{}),
	}
}

// enter returns the context of one call and what to do when it ends, as soon as
// it may run. Before it waits for that, it calls waits, unless that is nil. An
// error is why the call must not run.
func (c *calls) enter(ctx context.Context, session string, waits func()) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	id, err := c.admit(session, cancel)
	if err != nil {
		cancel(err)
		return nil, nil, err
	}
	leave := func() {
		cancel(nil)
		c.exit(id)
	}
	select {
	case c.slots <- struct{}{}:
	default:
		if waits != nil {
			waits()
		}
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			err := diag.New(diag.Cancelled, "waiting for other calls to end: %w", context.Cause(ctx))
			leave()
			return nil, nil, err
		}
	}
	return ctx, func() {
		<-c.slots
		leave()
	}, nil
}

// admit takes note of a call, unless it comes too late or is one too many.
func (c *calls) admit(session string, cancel context.CancelCauseFunc) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.leaving || c.ending[session]:
		return 0, diag.New(diag.Cancelled, "starting a call: %w", errLeaving)
	case len(c.running) >= c.most:
		e := diag.New(diag.LimitExceeded, "starting a call: %d calls run and %d wait already", cap(c.slots), c.most-cap(c.slots)).WithReason("busy")
		e.Retryable = true
		return 0, e
	}
	id := c.next
	c.next++
	c.running[id] = running{session, cancel}
	return id, nil
}

// of tells whether a session has calls that run or wait.
func (c *calls) of(session string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.running {
		if r.session == session {
			return true
		}
	}
	return false
}

func (c *calls) exit(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
	if c.leaving && len(c.running) == 0 {
		close(c.none)
	}
}

// leave cancels every call, refuses new ones and waits for the rest, but no
// longer than d. It reports whether all have ended.
func (c *calls) leave(d time.Duration) bool {
	c.cancel()
	select {
	case <-c.none:
		return true
	case <-time.After(d):
		return false
	}
}

func (c *calls) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving {
		return
	}
	c.leaving = true
	for _, r := range c.running {
		r.cancel(errLeaving)
	}
	if len(c.running) == 0 {
		close(c.none)
	}
}

// end cancels the calls of one session, those that begin now as well, until
// the function that it returns is called: to close a session, the SDK waits for
// its calls.
func (c *calls) end(session string) (closed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending[session] = true
	for _, r := range c.running {
		if r.session == session {
			r.cancel(errLeaving)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.ending, session)
	}
}
