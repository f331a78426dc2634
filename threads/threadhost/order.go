package threadhost

import (
	"context"
	"slices"
	"sync"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads"
)

// startOrder has the calls of one answer start their threads in the order of the calls:
// which of them get the rest of the money does not depend on chance. The zero value has no
// calls.
type startOrder struct {
	mu      sync.Mutex
	calls   []string // in order, without those that have passed
	changed chan struct{}
}

// begin sets the calls of an answer.
func (s *startOrder) begin(calls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.Clone(calls)
	s.wake()
}

// count returns how many calls have not started their thread.
func (s *startOrder) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// wake is called with the lock.
func (s *startOrder) wake() {
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// passed states that a call has started its thread, or will not.
func (s *startOrder) passed(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.calls, call); i >= 0 {
		s.calls = slices.Delete(s.calls, i, i+1)
		s.wake()
	}
}

// wait returns when all calls before this one have passed.
func (s *startOrder) wait(ctx context.Context, call string) error {
	for {
		s.mu.Lock()
		i := slices.Index(s.calls, call)
		changed := s.changed
		s.mu.Unlock()
		if i <= 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// left returns how many calls have not started their thread, this one included.
func (s *startOrder) left(call string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.calls, call)
	if i < 0 {
		return 1 // a program makes it
	}
	return int64(len(s.calls) - i)
}

// startsThread reports whether a call starts a thread.
func startsThread(c *threads.ToolCall) bool {
	return calledTool(c) == item.Ref{Kind: item.Tool, ID: threadTool}
}

// threadTool is the tool that starts a thread.
const threadTool = "rye/agent/threads/thread_directive"
