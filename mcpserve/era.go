package mcpserve

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// streamable returns the handler of /mcp for all revisions. The SDK needs one
// handler for each era: it serves the newer revision without sessions only, and
// without sessions a client of an older one cannot cancel.
func (s *Server) streamable(server *mcp.Server) *eras {
	get := func(*http.Request) *mcp.Server { return server }
	return &eras{
		calls:    s.calls,
		sessions: newSessions(server, s.calls),
		interval: keepAliveInterval,
		modern: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless:                    true,
			PropagateRequestCancellation: true,
			Logger:                       s.p.Logger,
			DisableLocalhostProtection:   true, // checkOrigin checks the host name
		}),
		legacy: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: sessionTime, Logger: s.p.Logger, DisableLocalhostProtection: true,
		}),
	}
}

// eras passes each request to the handler of its era.
type eras struct {
	calls          *calls
	sessions       *sessions
	modern, legacy http.Handler
	bodies         bodies
	interval       time.Duration // of keep-alive comments
}

func (e *eras) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer streams
	w.Header().Set("Cache-Control", "no-store")
	if name := repeatedHeader(r.Header); name != "" {
		answer(w, http.StatusBadRequest, refuse(mcp.CodeHeaderMismatch, nil, "the header "+name+" is given twice"))
		return
	}
	if r.Method != http.MethodPost {
		e.serveSession(w, r)
		return
	}
	body, done, status, err := e.bodies.read(w, r)
	defer done()
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	m, refused := peek(body)
	// The answer to initialize carries the session's id in a header that the SDK
	// sets when it answers. A comment sent before would send the headers without
	// it, and the session would be lost.
	if m.Method != "" && m.ID != nil && m.Method != "initialize" {
		k, stop := newKeepAlive(w, e.interval)
		defer stop()
		w = k
		r = r.WithContext(r.Context()) // net/http reads the request when the first comment is written, while the SDK changes it
	}
	newer := r.Header.Get("Mcp-Protocol-Version") >= modern || m.modern()
	problem := paramsProblem(m.Method, m.Params)
	switch {
	case refused != nil:
		answer(w, http.StatusBadRequest, refused)
	case problem != "" && newer:
		answer(w, http.StatusBadRequest, refuse(jsonrpc.CodeInvalidParams, m.ID, problem))
	case problem != "" && r.Header.Get("Mcp-Session-Id") != "":
		answer(w, http.StatusOK, refuse(jsonrpc.CodeInvalidParams, m.ID, problem)) // older clients take status 400 for the end of the session
	case newer:
		e.modern.ServeHTTP(w, r)
	default:
		if code, problem := m.handshakeProblem(r); problem != "" {
			answer(w, http.StatusBadRequest, refuse(code, m.ID, problem))
			return
		}
		e.inSession(w, r, m)
	}
}

// inSession serves a message of an older revision, within the limits of sessions.
func (e *eras) inSession(w http.ResponseWriter, r *http.Request, m message) {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		if !e.sessions.reserve() {
			w.Header().Set("Retry-After", retryAfter)
			answer(w, http.StatusServiceUnavailable, refuse(codeBusy, m.ID, "this server has reached its limit of sessions, and all are in use"))
			return
		}
		defer func() {
			e.sessions.started(w.Header().Get("Mcp-Session-Id"))
		}()
		e.legacy.ServeHTTP(w, r)
		return
	}
	done, ok := e.sessions.begin(id, m.key)
	if !ok {
		answer(w, http.StatusBadRequest, refuse(jsonrpc.CodeInvalidRequest, nil, idInUse(m.key).Message))
		return
	}
	defer done()
	e.legacy.ServeHTTP(w, r)
}

// codeBusy is the JSON-RPC code of a refusal that a client may repeat later.
const codeBusy = -32000

// repeatedHeader returns a header of the protocol that is given more than once,
// or "": a proxy in front of the server may read another value than the server.
func repeatedHeader(h http.Header) string {
	for name, values := range h {
		if len(values) > 1 && strings.HasPrefix(name, "Mcp-") {
			return name
		}
	}
	return ""
}

// serveSession serves GET and DELETE, which exist in sessions only.
func (e *eras) serveSession(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= modern || r.Header.Get("Mcp-Session-Id") == "" {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "without a session there is POST only", http.StatusMethodNotAllowed)
		return
	}
	switch r.Method {
	case http.MethodGet:
		done, _ := e.sessions.begin(r.Header.Get("Mcp-Session-Id"), jsonrpc.ID{})
		defer done()
		k, stop := newKeepAlive(w, e.interval)
		defer stop()
		w = k
	case http.MethodDelete:
		defer e.calls.cancelSession(r.Header.Get("Mcp-Session-Id"))()
	}
	e.legacy.ServeHTTP(w, r)
}

// message is the part of a message that decides how it is served.
type message struct {
	ID     json.RawMessage
	key    jsonrpc.ID // the parsed ID of a request
	Method string
	Params json.RawMessage
}

// peek parses that part of a body, or returns the error response to an invalid
// one.
func peek(body []byte) (m message, refused []byte) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return m, refuse(jsonrpc.CodeParseError, nil, "the body is empty")
	case body[0] == '[':
		return m, refuse(jsonrpc.CodeInvalidRequest, nil, "batches are not supported: send one message per request")
	}
	msg, refused := decode(body)
	if refused != nil {
		return m, refused
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		m = message{
			ID:     member(body, "id"),
			key:    req.ID,
			Method: req.Method,
			Params: req.Params,
		}
	}
	return m, nil
}

// modern reports whether a message names its revision, so that it needs no session.
func (m message) modern() bool {
	return member(member(m.Params, "_meta"), mcp.MetaKeyProtocolVersion) != nil
}

// handshakeProblem describes a message that must not be sent before or after the
// handshake. The SDK answers it with an error that has no code.
func (m message) handshakeProblem(r *http.Request) (code int64, problem string) {
	session := r.Header.Get("Mcp-Session-Id") != ""
	switch {
	case m.Method == "initialize" && session:
		return jsonrpc.CodeInvalidRequest, "this session is initialized already"
	case m.Method == "initialize":
		var p mcp.InitializeParams
		if len(m.Params) == 0 || json.Unmarshal(m.Params, &p) != nil {
			return jsonrpc.CodeInvalidParams, "the params of initialize must be an object with protocolVersion, capabilities and clientInfo"
		}
	case !session && m.Method != "ping":
		return jsonrpc.CodeInvalidRequest, "the request names no session: begin with initialize, or name the protocol version in _meta"
	}
	return 0, ""
}

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
