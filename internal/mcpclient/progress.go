package mcpclient

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watcher receives the progress of one call until the call ends.
type watcher struct {
	mu   sync.Mutex
	fn   ProgressFunc
	over bool
}

func (w *watcher) report(done, total float64, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.fn(done, total, message)
	}
}

// watch returns a progress token for one call. fn is called with its progress, and
// not after done returns.
func (s *Session) watch(fn ProgressFunc) (token string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	token = strconv.Itoa(s.calls)
	if s.watchers == nil {
		s.watchers = map[string]*watcher{}
	}
	w := &watcher{fn: fn}
	s.watchers[token] = w
	return token, func() {
		s.mu.Lock()
		delete(s.watchers, token)
		s.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.over = true
	}
}

// progress passes a notification to the watcher of its call.
func (s *Session) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	s.mu.Lock()
	w := s.watchers[token]
	s.mu.Unlock()
	if w == nil {
		return
	}
	w.report(req.Params.Progress, req.Params.Total, clipped(req.Params.Message))
}

// ProgressFunc receives the progress that a server reports about a call: how much is
// done, and of how much, 0 if that is unknown.
type ProgressFunc func(done, total float64, message string)

// progressOf returns the function that receives the progress of a call: the caller's for
// numbers, else one that passes texts to lines.
func progressOf(numbers ProgressFunc, lines func(string)) ProgressFunc {
	if numbers != nil {
		return numbers
	}
	return func(done, total float64, message string) {
		if message == "" && total > 0 {
			message = fmt.Sprintf("%v of %v", done, total)
		}
		lines(message)
	}
}
