package mcpserve

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errLeaving is why a call ends when its server does.
var errLeaving = errors.New("the server ends")

// calls are the calls that run. The SDK ends no handler when a server ends, and
// does not wait for one: a program that a handler has started would outlive it.
type calls struct {
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

func newCalls() *calls {
	return &calls{running: map[int]running{}, ending: map[string]bool{}, none: make(chan struct{})}
}

// enter returns the context of one call and what to do when it ends.
func (c *calls) enter(ctx context.Context, session string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving || c.ending[session] {
		cancel(errLeaving)
		return ctx, func() {}
	}
	id := c.next
	c.next++
	c.running[id] = running{session, cancel}
	return ctx, func() {
		cancel(nil)
		c.exit(id)
	}
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
