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
	fn   func(text string)
	over bool
}

func (w *watcher) report(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.fn(text)
	}
}

// watch returns a progress token for one call. fn is called with its progress, and
// not after done returns.
func (s *Session) watch(fn func(text string)) (token string, done func()) {
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
	text := req.Params.Message
	if text == "" && req.Params.Total > 0 {
		text = fmt.Sprintf("%v of %v", req.Params.Progress, req.Params.Total)
	}
	w.report(clipped(text))
}
