package mcpserve

import (
	"context"
	"crypto/rand"
	"mime"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// oldStreams answers at /sse to clients of the first revision: a GET is a
// session and its stream, a POST brings a message to one.
type oldStreams struct {
	server *mcp.Server
	most   int

	mu       sync.Mutex
	sessions map[string]*mcp.SSEServerTransport
}

func newOldStreams(server *mcp.Server) *oldStreams {
	return &oldStreams{server: server, most: maxStreams, sessions: map[string]*mcp.SSEServerTransport{}}
}

func (o *oldStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		o.open(w, r)
	case http.MethodPost:
		o.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "there is GET and POST", http.StatusMethodNotAllowed)
	}
}

func (o *oldStreams) open(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	t := &mcp.SSEServerTransport{Endpoint: r.URL.Path + "?sessionid=" + id, MaxRequestBodyBytes: maxBody}
	if !o.put(id, t) {
		full(w, nil, "this server has as many clients at /sse as it can have")
		return
	}
	defer o.drop(id)
	for name, value := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Connection": "keep-alive", "X-Accel-Buffering": "no",
	} {
		w.Header().Set(name, value)
	}
	w, stop := newSteady(w, sayAlive)
	defer stop()
	t.Response = w
	quiet := &silent{Transport: t, open: newOpen()}
	session, err := o.server.Connect(r.Context(), quiet, nil)
	if err != nil {
		return // the stream has broken already
	}
	defer context.AfterFunc(r.Context(), quiet.hangUp)() // cancels what runs; to close the session would wait for it
	_ = session.Wait()
}

// put takes note of a session. It reports whether there is room for it.
func (o *oldStreams) put(id string, t *mcp.SSEServerTransport) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.sessions) >= o.most {
		return false
	}
	o.sessions[id] = t
	return true
}

func (o *oldStreams) drop(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sessions, id)
}

func (o *oldStreams) post(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "the content type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	o.mu.Lock()
	t := o.sessions[r.URL.Query().Get("sessionid")]
	o.mu.Unlock()
	if t == nil {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	body, status, err := readBody(w, r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	if _, refused := peek(body); refused != nil {
		answer(w, http.StatusBadRequest, refused)
		return
	}
	t.ServeHTTP(w, r)
}
