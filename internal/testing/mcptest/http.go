package mcptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// Handler serves streamable HTTP at /mcp, and the older transport with events at
// /sse.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.post)
	e := &events{s: s, streams: map[string]chan message{}}
	mux.HandleFunc("/sse", e.stream)
	mux.HandleFunc("/messages", e.post)
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/mcp", http.StatusTemporaryRedirect)
	})
	return mux
}

// admit answers who comes without the token.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "no", http.StatusUnauthorized)
		return false
	}
	return true
}

func read(w http.ResponseWriter, r *http.Request) (message, bool) {
	var m message
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return m, false
	}
	err := json.NewDecoder(r.Body).Decode(&m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return m, false
	}
	return m, true
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	if !s.admit(w, r) {
		return
	}
	m, ok := read(w, r)
	if !ok {
		return
	}
	if m.Method == "tools/call" && s.Forget && s.forgot.CompareAndSwap(false, true) {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	if m.Method == s.Silent && m.ID != nil {
		<-r.Context().Done()
		return
	}
	res, ok := s.Answer(m)
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", s.sessions.Add(1)))
	}
	_ = json.NewEncoder(w).Encode(res)
}

// events is the older transport: answers come on a stream of their own.
type events struct {
	s       *Server
	mu      sync.Mutex
	streams map[string]chan message
}

func (e *events) stream(w http.ResponseWriter, r *http.Request) {
	if !e.s.admit(w, r) {
		return
	}
	ch := make(chan message, 16)
	e.mu.Lock()
	id := fmt.Sprint(len(e.streams) + 1)
	e.streams[id] = ch
	e.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: endpoint\ndata: /messages?id=%s\n\n", id)
	for {
		w.(http.Flusher).Flush()
		select {
		case m := <-ch:
			b, _ := json.Marshal(m)
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", b)
		case <-r.Context().Done():
			return
		}
	}
}

func (e *events) post(w http.ResponseWriter, r *http.Request) {
	m, ok := read(w, r)
	if !ok {
		return
	}
	e.mu.Lock()
	ch := e.streams[r.URL.Query().Get("id")]
	e.mu.Unlock()
	if ch == nil {
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if res, ok := e.s.Answer(m); ok {
		ch <- res
	}
}
