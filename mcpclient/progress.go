package mcpclient

import (
	"context"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// watch returns a token for one call; fn is told of the call's progress until
// done is called.
func (s *Session) watch(fn func(text string)) (token string, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	token = strconv.Itoa(s.calls)
	if s.watchers == nil {
		s.watchers = map[string]func(string){}
	}
	s.watchers[token] = fn
	return token, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, token)
	}
}

// progress hands on what a server says of a call under way.
func (s *Session) progress(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
	token, _ := req.Params.ProgressToken.(string)
	s.mu.Lock()
	fn := s.watchers[token]
	s.mu.Unlock()
	if fn == nil {
		return
	}
	text := req.Params.Message
	if text == "" && req.Params.Total > 0 {
		text = fmt.Sprintf("%v of %v", req.Params.Progress, req.Params.Total)
	}
	fn(clipped(text))
}
