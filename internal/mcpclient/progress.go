package mcpclient

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watcher is told of the progress of one call, until the call is over.
type watcher struct {
	mu   sync.Mutex
	fn   func(text string)
	over bool
}

func (w *watcher) tell(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.fn(text)
	}
}

// watch returns a token for one call; fn is told of the call's progress until
// done is called, and never after that.
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

// progress hands on what a server says of a call under way.
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
	w.tell(clipped(text))
}
