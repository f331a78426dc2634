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

	mu       sync.Mutex
	sessions map[string]*mcp.SSEServerTransport
}

func newOldStreams(server *mcp.Server) *oldStreams {
	return &oldStreams{server: server, sessions: map[string]*mcp.SSEServerTransport{}}
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
	for name, value := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Connection": "keep-alive", "X-Accel-Buffering": "no",
	} {
		w.Header().Set(name, value)
	}
	w, stop := newSteady(w, sayAlive)
	defer stop()
	id := rand.Text()
	t := &mcp.SSEServerTransport{Endpoint: r.URL.Path + "?sessionid=" + id, Response: w, MaxRequestBodyBytes: maxBody}
	o.put(id, t)
	defer o.put(id, nil)
	quiet := &silent{Transport: t, open: newOpen()}
	session, err := o.server.Connect(r.Context(), quiet, nil)
	if err != nil {
		return // the stream has broken already
	}
	defer context.AfterFunc(r.Context(), quiet.hangUp)() // cancels what runs; to close the session would wait for it
	_ = session.Wait()
}

func (o *oldStreams) put(id string, t *mcp.SSEServerTransport) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t == nil {
		delete(o.sessions, id)
		return
	}
	o.sessions[id] = t
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
