package mcpserve

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxSessions is the number of sessions over HTTP; each takes about 30 KB.
	maxSessions = 256
	// retryAfter is the Retry-After of a refused handshake, in seconds.
	retryAfter = "30"
)

// sessions limits the sessions of the older revisions over HTTP. The SDK opens
// one for every handshake and keeps it for sessionTime. When the limit is
// reached, a new session replaces the one that has been idle for longest: it has
// no pending request, no open stream and no running call.
type sessions struct {
	limit  int
	server *mcp.Server
	calls  *calls

	mu       sync.Mutex
	starting int
	clock    int // counts uses
	all      map[string]*session
}

type session struct {
	used int // clock of the last use
	busy int // requests and streams
	ids  map[jsonrpc.ID]bool
}

func newSessions(server *mcp.Server, calls *calls) *sessions {
	return &sessions{
		limit:  maxSessions,
		server: server,
		calls:  calls,
		all:    map[string]*session{},
	}
}

// reserve counts a session that is being opened and reports whether the limit
// permits it. If it returns true, started must follow.
func (s *sessions) reserve() bool {
	s.mu.Lock()
	if len(s.all)+s.starting >= s.limit {
		s.removeEnded()
	}
	replaced := ""
	full := len(s.all)+s.starting >= s.limit
	if full {
		replaced = s.longestIdle()
		delete(s.all, replaced)
	}
	ok := !full || replaced != ""
	if ok {
		s.starting++
	}
	s.mu.Unlock()
	// Closing waits for the session's handlers, which need the lock.
	if replaced != "" {
		s.close(replaced)
	}
	return ok
}

// started ends a reservation. id is the new session, "" if the handshake failed.
func (s *sessions) started(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	s.get(id)
}

// begin marks the session busy until done is called. ok is false if the session
// already has a pending request with this id.
func (s *sessions) begin(id string, request jsonrpc.ID) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.get(id)
	if one == nil {
		return func() {}, true // the SDK reports the unknown session
	}
	if request.IsValid() {
		if one.ids[request] {
			return nil, false
		}
		one.ids[request] = true
	}
	one.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(one.ids, request)
		one.busy--
		s.clock++
		one.used = s.clock
	}, true
}

// get returns the session, or nil if the server has none with that id.
func (s *sessions) get(id string) *session {
	one := s.all[id]
	if one == nil && id != "" && s.find(id) != nil {
		s.clock++
		one = &session{used: s.clock, ids: map[jsonrpc.ID]bool{}}
		s.all[id] = one
	}
	return one
}

func (s *sessions) find(id string) *mcp.ServerSession {
	for one := range s.server.Sessions() {
		if one.ID() == id {
			return one
		}
	}
	return nil
}

// removeEnded removes the sessions that the SDK has ended.
func (s *sessions) removeEnded() {
	live := map[string]bool{}
	for one := range s.server.Sessions() {
		live[one.ID()] = true
	}
	for id := range s.all {
		if !live[id] {
			delete(s.all, id)
		}
	}
}

// longestIdle returns the session that has been idle for longest, "" if all are
// busy. A call may run without a request: its client can disconnect and read
// the result later.
//
// Never one with a stream or a call.
func (s *sessions) longestIdle() string {
	oldest := ""
	for id, one := range s.all {
		if one.busy == 0 &&
			(oldest == "" || one.used < s.all[oldest].used) &&
			!s.calls.inSession(id) {
			oldest = id
		}
	}
	return oldest
}

func (s *sessions) close(id string) {
	if one := s.find(id); one != nil {
		defer s.calls.cancelSession(id)()
		_ = one.Close() // the session ends in any case
	}
}
