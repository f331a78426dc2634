package mcpserve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// crowd is a site for a few sessions.
func crowd(t *testing.T, most int) (*site, *fake, *sessions) {
	t.Helper()
	f := newFake()
	server := newTestServer(f)
	proto, err := server.protocol(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := server.streamable(proto)
	e.sessions.limit = most
	web := httptest.NewServer(e)
	t.Cleanup(func() { server.calls.stop(ShutdownTimeout); web.CloseClientConnections(); web.Close() })
	return &site{t: t, base: web.URL, server: server}, f, e.sessions
}

// settle waits until no request of a client is on its way, which is a moment
// after its answer has come.
func (s *sessions) settle() (known int) {
	for {
		s.mu.Lock()
		known, busy := len(s.all), s.starting
		for _, one := range s.all {
			busy += one.busy
		}
		s.mu.Unlock()
		if busy == 0 {
			return known
		}
		time.Sleep(time.Millisecond)
	}
}

func (s *site) status(session string) int {
	s.t.Helper()
	return s.post(call("9", ""), session, older).StatusCode
}

// Too many handshakes end idle sessions.
func TestIdleSessionsEnd(t *testing.T) {
	s, _, held := crowd(t, 3)
	var three [3]string
	for i := range three {
		three[i] = s.session()
		held.settle()
	}
	first, second, third := three[0], three[1], three[2]
	if got := s.status(first); got != 200 {
		t.Fatalf("status %d", got)
	}
	held.settle()
	fourth := s.session()
	for session, want := range map[string]int{first: 200, second: 404, third: 200, fourth: 200} {
		if got := s.status(session); got != want {
			t.Errorf("%s: status %d, want %d", session, got, want)
		}
	}
	for range 20 {
		held.settle()
		s.session()
	}
	known, n := held.settle(), 0
	for range held.server.Sessions() {
		n++
	}
	if n != 3 || known != 3 {
		t.Errorf("%d sessions, %d known", n, known)
	}
}

// Sessions in use stay: those with a call, and those with an open stream.
func TestBusySessionsStay(t *testing.T) {
	s, f, _ := crowd(t, 2)
	calling, listening := s.session(), s.session()
	ctx, cancel := context.WithCancel(t.Context())
	s.later(ctx, call("2", "wait x"), calling, older)
	<-f.started
	stream := s.ask(ctx, http.MethodGet, "/mcp", "", listening, older)
	if stream.StatusCode != 200 {
		t.Fatalf("status %d", stream.StatusCode)
	}
	for range 3 {
		res := s.post(hello)
		if got := oneMessage(t, res); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || field(got, "error.code") == nil {
			t.Fatalf("status %d: %v", res.StatusCode, got)
		}
	}
	if res := s.post(newCall(""), newHeaders()...); res.StatusCode != 200 {
		t.Errorf("a call without a session: status %d", res.StatusCode)
	}
	if got := s.status(listening); got != 200 {
		t.Errorf("status %d", got)
	}
	s.ask(t.Context(), http.MethodDelete, "/mcp", "", calling, older)
	<-f.ended
	s.session() // below the limit again
	cancel()
}

// A handshake that fails leaves nothing.
func TestFailedHandshakes(t *testing.T) {
	s, _, held := crowd(t, 2)
	session := s.session()
	for range 5 {
		s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		held.settle()
		s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`)
		held.settle()
		s.post(hello, "Accept: ", "Accept: text/html")
		held.settle()
	}
	if got, known := s.status(session), held.settle(); got != 200 || known != 1 {
		t.Errorf("status %d, %d known", got, known)
	}
}

// Over HTTP the answer to a second request under an id in use comes at once.
func TestHTTPIDInUse(t *testing.T) {
	s, f, _ := crowd(t, 3)
	session, other := s.session(), s.session()
	s.later(t.Context(), call("2", "wait x"), session, older)
	<-f.started
	res := s.post(call("2", ""), session, older)
	if res.StatusCode != 400 {
		t.Errorf("status %d", res.StatusCode)
	}
	demand(t, oneMessage(t, res), "error.code", "-32600")
	demand(t, oneMessage(t, s.post(call(`"2"`, ""), session, older)), "id", "2")
	demand(t, oneMessage(t, s.post(call("2", ""), other, older)), "id", "2")
}

// A session whose client has gone away is not idle while a call of it runs: the
// client may connect again and read the result.
func TestSessionWithCallStays(t *testing.T) {
	s, f, all := crowd(t, 1)
	session := s.session()
	ctx, cancel := context.WithCancel(t.Context())
	gone := s.later(ctx, call("2", "wait x"), session, older)
	<-f.started
	cancel()
	<-gone
	all.settle()
	if res := s.post(hello); res.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("a second session: status %d", res.StatusCode)
	}
	select {
	case err := <-f.ended:
		t.Fatalf("the call ended: %v", err)
	default:
	}
	s.server.calls.cancelSession(strings.TrimPrefix(session, "Mcp-Session-Id: "))()
	<-f.ended
	s.server.calls.settle()
	s.session()
}

// settle waits until no call runs.
func (c *calls) settle() {
	for {
		c.mu.Lock()
		n := len(c.running)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
