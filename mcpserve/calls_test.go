package mcpserve

import (
	"context"
	"errors"
	"testing"
)

// A call that reaches a session while that ends, ends with it.
func TestCallsOfAnEndingSession(t *testing.T) {
	c := newCalls()
	ended := func(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errLeaving) }
	mine, done := c.enter(t.Context(), "mine")
	other, otherDone := c.enter(t.Context(), "other")
	none, noneDone := c.enter(t.Context(), "")
	closed := c.end("mine")
	late, lateDone := c.enter(t.Context(), "mine")
	if !ended(mine) || !ended(late) || ended(other) || ended(none) {
		t.Error("not the calls of that session end")
	}
	closed()
	done()
	lateDone()
	again, againDone := c.enter(t.Context(), "mine")
	if ended(again) {
		t.Error("a name that is free again ends a call")
	}
	c.cancel()
	c.cancel()
	after, _ := c.enter(t.Context(), "other")
	for _, ctx := range []context.Context{other, none, again, after} {
		if !ended(ctx) {
			t.Error("a call outlives the server")
		}
	}
	if c.leave(0) {
		t.Error("calls that run are gone")
	}
	otherDone()
	noneDone()
	againDone()
	if !c.leave(LeaveTime) {
		t.Error("calls that have ended run")
	}
}
