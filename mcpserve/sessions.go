package mcpserve

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxSessions is how many sessions there are at once over HTTP; each takes
	// some 30 KB.
	maxSessions = 256
	// comeAgain is how many seconds a client waits that was refused for that.
	comeAgain = "30"
)

// sessions bounds the sessions of the older revisions over HTTP. The SDK opens
// one for everybody who shakes hands, and keeps it for sessionTime. When there
// are too many, the one ends that has been idle for longest: no request of it
// is on its way, no stream is open and no call runs.
type sessions struct {
	most   int
	server *mcp.Server
	calls  *calls

	mu       sync.Mutex
	starting int
	turn     int // counts up with every use
	all      map[string]*session
}

type session struct {
	used int // the turn
	busy int // requests and streams
	ids  map[jsonrpc.ID]bool
}

func newSessions(server *mcp.Server, calls *calls) *sessions {
	return &sessions{most: maxSessions, server: server, calls: calls, all: map[string]*session{}}
}

// start makes room for a session. It reports whether there is some; then
// started must follow, with the session's id or "".
func (s *sessions) start() bool {
	s.mu.Lock()
	if len(s.all)+s.starting >= s.most {
		s.forget()
	}
	oldest, full := "", len(s.all)+s.starting >= s.most
	if full {
		oldest = s.idle()
		delete(s.all, oldest)
	}
	ok := !full || oldest != ""
	if ok {
		s.starting++
	}
	s.mu.Unlock()
	if oldest != "" {
		s.close(oldest)
	}
	return ok
}

func (s *sessions) started(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting--
	s.known(id)
}

// use takes note of a request or a stream of a session until done is called. It
// reports whether the id of a request is free.
func (s *sessions) use(id string, request jsonrpc.ID) (done func(), free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.known(id)
	if one == nil {
		return func() {}, true // the SDK tells that there is no such session
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
		s.turn++
		one.used = s.turn
	}, true
}

// known returns a session that there is, else nil.
func (s *sessions) known(id string) *session {
	one := s.all[id]
	if one == nil && id != "" && s.find(id) != nil {
		s.turn++
		one = &session{used: s.turn, ids: map[jsonrpc.ID]bool{}}
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

// forget drops the sessions that have ended.
func (s *sessions) forget() {
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

// idle is the session that has been idle for longest, "" when all are busy.
func (s *sessions) idle() string {
	oldest := ""
	for id, one := range s.all {
		if one.busy == 0 && (oldest == "" || one.used < s.all[oldest].used) && !s.calls.of(id) {
			oldest = id
		}
	}
	return oldest
}

func (s *sessions) close(id string) {
	if one := s.find(id); one != nil {
		defer s.calls.end(id)()
		_ = one.Close() // it is gone, whatever it says
	}
}
