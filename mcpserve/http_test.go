package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// site is a server on a port of this machine.
type site struct {
	t      *testing.T
	base   string
	server *Server
}

func serveSite(t *testing.T, s *Server, p HTTPParams) *site {
	t.Helper()
	proto, err := s.protocol(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.handler(proto, p)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { s.calls.stop(ShutdownTimeout); web.CloseClientConnections(); web.Close() })
	return &site{t: t, base: web.URL, server: s}
}

// ask sends one request; headers are "Name: value".
func (s *site) ask(ctx context.Context, method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case name == "Host":
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Add(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	return res
}

func (s *site) post(body string, headers ...string) *http.Response {
	s.t.Helper()
	return s.ask(s.t.Context(), http.MethodPost, "/mcp", body, headers...)
}

// later posts without waiting: nothing of an answer comes before its first
// event. The channel gets the body.
func (s *site) later(ctx context.Context, body string, headers ...string) <-chan string {
	got := make(chan string, 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range append(headers, "Content-Type: application/json", "Accept: application/json, text/event-stream") {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		got <- string(b)
	}()
	return got
}

// oneMessage reads the one message of a response: a body, or the last event.
func oneMessage(t *testing.T, res *http.Response) any {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if i := strings.LastIndex(text, "data: "); i >= 0 {
		text, _, _ = strings.Cut(text[i+len("data: "):], "\n\n") // a comment may follow
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("status %d, body %q: %v", res.StatusCode, b, err)
	}
	return doc
}

// session shakes hands and returns the header of the session.
func (s *site) session() string {
	s.t.Helper()
	res := s.post(hello)
	demand(s.t, oneMessage(s.t, res), "result.protocolVersion", "2025-11-25")
	return "Mcp-Session-Id: " + res.Header.Get("Mcp-Session-Id")
}

const (
	newer = "MCP-Protocol-Version: 2026-07-28"
	older = "MCP-Protocol-Version: 2025-11-25"
)

func newCall(item string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s,"name":"execute","arguments":{"item_id":%q}}}`, meta, item)
}

func newHeaders() []string { return []string{newer, "Mcp-Method: tools/call", "Mcp-Name: execute"} }

// The header and the body select the era: a body of the newer one without the
// header is an error of the newer one.
func TestEras(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{})
	res := s.post(newCall(""), newHeaders()...)
	if res.Header.Get("X-Accel-Buffering") != "no" || res.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("headers %v", res.Header)
	}
	demand(t, oneMessage(t, res), "result.resultType", "complete")
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"no header":        {newCall(""), nil, 400, "-32020"},
		"old header":       {newCall(""), []string{older}, 400, "-32020"},
		"no meta":          {call("1", ""), newHeaders(), 400, "-32602"},
		"no method header": {newCall(""), []string{newer}, 400, "-32020"},
		"other name":       {newCall(""), []string{newer, "Mcp-Method: tools/call", "Mcp-Name: sign"}, 400, "-32020"},
		"unknown method":   {strings.Replace(newCall(""), "tools/call", "tools/eat", 1), []string{newer, "Mcp-Method: tools/eat"}, 404, "-32601"},
		"undeclared":       {`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{` + meta + `}}`, []string{newer, "Mcp-Method: completion/complete"}, 404, "-32601"},
		"unknown tool":     {strings.Replace(newCall(""), `"execute"`, `"erase"`, 1), []string{newer, "Mcp-Method: tools/call", "Mcp-Name: erase"}, 400, "-32602"},
		"later revision":   {strings.Replace(newCall(""), "2026-07-28", "2027-01-01", 1), []string{"MCP-Protocol-Version: 2027-01-01", "Mcp-Method: tools/call", "Mcp-Name: execute"}, 400, "-32022"},
		"before the hands": {call("1", ""), nil, 400, "-32600"},
		"bad handshake":    {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, nil, 400, "-32602"},
		"method twice":     {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, nil, 400, "-32600"},
		"name twice":       {strings.Replace(newCall(""), `"name"`, `"name":"sign","name"`, 1), newHeaders(), 400, "-32600"},
		"another Method":   {strings.Replace(call("1", ""), `"method"`, `"METHOD":"ping","method"`, 1), nil, 400, "-32600"},
		"id 1.5":           {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, nil, 400, "-32600"},
	} {
		t.Run(name, func(t *testing.T) {
			res := s.post(c.body, c.headers...)
			got := oneMessage(t, res)
			demand(t, got, "error.code", c.code)
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
		})
	}
	session := s.session()
	res = s.post(hello, session, older)
	demand(t, oneMessage(t, res), "error.code", "-32600")
	demand(t, oneMessage(t, s.post(call("2", ""), session, older)), "result.content.0.type", "text")
}

// A session that was ended is gone, and what runs in it ends with it.
func TestSessionEnds(t *testing.T) {
	f := newFake()
	s := serveSite(t, newTestServer(f), HTTPParams{})
	session := s.session()
	body := s.later(t.Context(), call("2", "wait x"), session, older)
	<-f.started
	if res := s.ask(t.Context(), "DELETE", "/mcp", "", session, older); res.StatusCode != 204 {
		t.Errorf("DELETE: status %d", res.StatusCode)
	}
	if err := <-f.ended; !errors.Is(err, errShutdown) {
		t.Errorf("the call ended with %v", err)
	}
	if b := <-body; strings.Contains(b, "data:") {
		t.Errorf("after the end comes %q", b)
	}
	if res := s.post(call("3", ""), session, older); res.StatusCode != 404 {
		t.Errorf("status %d, want 404", res.StatusCode)
	}
}

// Older clients cancel by a notification: the stream ends without an answer.
func TestHTTPCancelOld(t *testing.T) {
	f := newFake()
	s := serveSite(t, newTestServer(f), HTTPParams{})
	session := s.session()
	media := make(chan string, 1)
	body := make(chan string, 1)
	go func() { // agents F16: JSON or a stream, also without an answer
		res := s.post(call("2", "wait x"), session, older)
		b, _ := io.ReadAll(res.Body)
		media <- res.Header.Get("Content-Type")
		body <- string(b)
	}()
	<-f.started
	if res := s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, session, older); res.StatusCode != 202 {
		t.Errorf("status %d, want 202", res.StatusCode)
	}
	<-f.ended
	if m := <-media; m != "text/event-stream" {
		t.Errorf("the content type is %q", m)
	}
	if b := <-body; b != "" {
		t.Errorf("after the cancellation comes %q", b)
	}
	demand(t, oneMessage(t, s.post(call("2", ""), session, older)), "id", "2")
}

// Newer clients cancel by closing the stream.
func TestHTTPCancelNew(t *testing.T) {
	f := newFake()
	s := serveSite(t, newTestServer(f), HTTPParams{})
	ctx, cancel := context.WithCancel(t.Context())
	body := s.later(ctx, newCall("wait x"), newHeaders()...)
	<-f.started
	cancel()
	if b := <-body; !strings.Contains(b, "context canceled") {
		t.Errorf("the request ended with %q", b)
	}
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestHTTPPanic(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{})
	demand(t, oneMessage(t, s.post(newCall("panic"), newHeaders()...)), "result.isError", "true")
	session := s.session()
	demand(t, oneMessage(t, s.post(call("2", "panic"), session, older)), "result.isError", "true")
	demand(t, oneMessage(t, s.post(call("3", ""), session, older)), "id", "3")
}

// The SDK's clients of every era, over every transport.
func TestClients(t *testing.T) {
	s := serveSite(t, newTestServer(newFake()), HTTPParams{})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			useClient(t, &mcp.StreamableClientTransport{Endpoint: s.base + "/mcp"}, version)
		})
	}
}

func useClient(t *testing.T, transport mcp.Transport, version string) {
	t.Helper()
	ctx := t.Context()
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Fatalf("%v, %v", tools, err)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "execute", Arguments: map[string]any{}})
	if err != nil || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "<hello>") {
		t.Errorf("%v, %v", res, err)
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "demo/greet", Arguments: map[string]string{"name": "Ada"}})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Say hello to Ada" {
		t.Errorf("%v, %v", prompt, err)
	}
	facts, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "rye://knowledge/demo/facts"})
	if err != nil || facts.Contents[0].Text != "# Facts" {
		t.Errorf("%v, %v", facts, err)
	}
}

// When the server ends, calls are cancelled and open streams closed.
func TestServeEnds(t *testing.T) {
	f := newFake()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	server := newTestServer(f)
	go func() { ended <- server.Serve(ctx, l, HTTPParams{}, func() {}) }()
	s := &site{t: t, base: "http://" + l.Addr().String(), server: server}
	session := s.session()
	for _, headers := range [][]string{{session, older}, newHeaders()} {
		body := newCall("wait new")
		if headers[0] == session {
			body = call("2", "wait old")
		}
		s.later(t.Context(), body, headers...)
	}
	<-f.started
	<-f.started
	cancel()
	for range 2 {
		if err := <-f.ended; err == nil {
			t.Error("a call ended by itself")
		}
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("Serve does not end")
	}
}

// Clients of both eras at once, some of which go away in the middle.
func TestManyAtOnce(t *testing.T) {
	f := newFake()
	s := serveSite(t, newTestServer(f), HTTPParams{})
	began := make([]chan struct{}, 24)
	for i := range began {
		began[i] = make(chan struct{})
	}
	go func() {
		for range 16 {
			i, _ := strconv.Atoi(<-f.started)
			close(began[i])
		}
	}()
	var all sync.WaitGroup
	for i := range began {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			session := s.session()
			switch {
			case i%3 == 0: // goes away
				later := s.later(ctx, newCall(fmt.Sprint("wait ", i)), newHeaders()...)
				<-began[i]
				cancel()
				<-later
			case i%3 == 1: // ends its session
				later := s.later(ctx, call("2", fmt.Sprint("wait ", i)), session, older)
				<-began[i]
				s.ask(ctx, "DELETE", "/mcp", "", session, older)
				<-later
			default:
				for n := range 10 {
					demand(t, oneMessage(t, s.post(call(fmt.Sprint(n+2), ""), session, older)), "id", fmt.Sprint(n+2))
					demand(t, oneMessage(t, s.post(newCall(""), newHeaders()...)), "result.resultType", "complete")
				}
			}
		})
	}
	all.Wait()
	for range 16 {
		<-f.ended
	}
}
