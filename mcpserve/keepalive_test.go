package mcpserve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestKeepAlive(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(http.ResponseWriter)
		status int
		kind   string
		body   string
	}{
		"silent": {func(http.ResponseWriter) { time.Sleep(2*keepAliveInterval + time.Second) }, 200, "text/event-stream", ": alive\n\n: alive\n\n"},
		"quick":  {func(w http.ResponseWriter) { event(w, "x") }, 200, "text/event-stream", "x"},
		"events now and then": {func(w http.ResponseWriter) {
			for range 4 {
				event(w, "x")
				time.Sleep(keepAliveInterval - time.Second)
			}
		}, 200, "text/event-stream", "xxxx"},
		"an event late": {func(w http.ResponseWriter) {
			time.Sleep(keepAliveInterval + time.Second)
			event(w, "x")
		}, 200, "text/event-stream", ": alive\n\nx"},
		"refused at once": {func(w http.ResponseWriter) {
			http.Error(w, "no", http.StatusNotFound)
			time.Sleep(time.Second)
		}, 404, "text/plain; charset=utf-8", "no\n"},
		"refused late": {func(w http.ResponseWriter) {
			time.Sleep(keepAliveInterval + time.Second)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":{}}`))
		}, 200, "text/event-stream", ": alive\n\nevent: message\ndata: {\"error\":{}}\n\n"},
		"flushed only": {func(w http.ResponseWriter) {
			w.Header().Set("Mcp-Session-Id", "x")
			_ = http.NewResponseController(w).Flush()
		}, 200, "text/event-stream", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := httptest.NewRecorder()
				s, stop := newKeepAlive(rec, keepAliveInterval)
				c.do(s)
				stop()
				if rec.Code != c.status || rec.Header().Get("Content-Type") != c.kind || rec.Body.String() != c.body {
					t.Errorf("%d %q %q", rec.Code, rec.Header().Get("Content-Type"), rec.Body)
				}
			})
		})
	}
}

func event(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(text))
	_ = http.NewResponseController(w).Flush()
}

// Silent calls of both eras say that they are alive, and clients that do not
// care pass over it.
func TestSilentStreams(t *testing.T) {
	f := newFake()
	server := newTestServer(f)
	proto, err := server.protocol(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := server.streamable(proto)
	e.interval = time.Millisecond
	web := httptest.NewServer(e)
	t.Cleanup(func() { server.calls.stop(ShutdownTimeout); web.CloseClientConnections(); web.Close() })
	s := &site{t: t, base: web.URL, server: server}
	session := s.session()
	for name, headers := range map[string][]string{"old": {session, older}, "new": newHeaders()} {
		body := newCall("wait x")
		if name == "old" {
			body = call("2", "wait x")
		}
		ctx, cancel := context.WithCancel(t.Context())
		res := s.ask(ctx, http.MethodPost, "/mcp", body, headers...) // returns at the first byte, which no event is
		first := make([]byte, len(": alive"))
		if _, err := res.Body.Read(first); err != nil || string(first) != ": alive" {
			t.Errorf("%s: the stream begins with %q, %v", name, first, err)
		}
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("%s: %d %v", name, res.StatusCode, res.Header)
		}
		cancel()
	}
	demand(t, oneMessage(t, s.post(call("3", ""), session, older)), "result.content.0.type", "text")
}

// A slow handshake keeps its session: the first byte of its response is sent
// with the session's id.
func TestSlowInitialize(t *testing.T) {
	server := newTestServer(newFake())
	proto, err := server.protocol(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proto.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "initialize" {
				time.Sleep(20 * time.Millisecond)
			}
			return next(ctx, method, req)
		}
	})
	e := server.streamable(proto)
	e.interval = time.Millisecond
	web := httptest.NewServer(e)
	t.Cleanup(func() { server.calls.stop(ShutdownTimeout); web.CloseClientConnections(); web.Close() })
	s := &site{t: t, base: web.URL, server: server}
	session := s.session()
	if session == "Mcp-Session-Id: " {
		t.Fatal("the session has no id")
	}
	demand(t, oneMessage(t, s.post(call("2", ""), session, older)), "id", "2")
}
