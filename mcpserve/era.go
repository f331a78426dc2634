package mcpserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// streamable answers at /mcp in both eras. The SDK needs a handler for each:
// the newer revision is served without sessions only, and without sessions the
// older ones cannot cancel.
func (s *Server) streamable(server *mcp.Server) *eras {
	get := func(*http.Request) *mcp.Server { return server }
	return &eras{
		calls: s.calls, sessions: newSessions(server, s.calls), silence: sayAlive,
		modern: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, Logger: s.p.Logger,
			DisableLocalhostProtection: true, // guarded has looked at the name
		}),
		legacy: mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
			SessionTimeout: sessionTime, Logger: s.p.Logger, DisableLocalhostProtection: true,
		}),
	}
}

// eras sends a request to the handler of its era.
type eras struct {
	calls          *calls
	sessions       *sessions
	modern, legacy http.Handler
	silence        time.Duration // of a stream, before it says that it is alive
}

func (e *eras) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Accel-Buffering", "no") // proxies hand streams on as they come
	w.Header().Set("Cache-Control", "no-store")
	if name := severalOf(r.Header); name != "" {
		answer(w, http.StatusBadRequest, refuse(mcp.CodeHeaderMismatch, nil, "the header "+name+" stands twice"))
		return
	}
	if r.Method != http.MethodPost {
		e.without(w, r)
		return
	}
	body, status, err := readBody(w, r)
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	m, refused := peek(body)
	// The answer to initialize carries the session's id in a header that the SDK
	// sets when it answers. A comment sent before would send the headers without
	// it, and the session would be lost.
	if m.Method != "" && m.ID != nil && m.Method != "initialize" {
		s, stop := newSteady(w, e.silence)
		defer stop()
		w, r = s, r.WithContext(r.Context()) // the SDK changes the request, which the first byte of an answer looks at
	}
	newer := r.Header.Get("Mcp-Protocol-Version") >= modern || m.modern()
	wrong := wrongParams(m.Method, m.Params)
	switch {
	case refused != nil:
		answer(w, http.StatusBadRequest, refused)
	case wrong != "" && newer:
		answer(w, http.StatusBadRequest, refuse(jsonrpc.CodeInvalidParams, m.ID, wrong))
	case wrong != "" && r.Header.Get("Mcp-Session-Id") != "":
		answer(w, http.StatusOK, refuse(jsonrpc.CodeInvalidParams, m.ID, wrong)) // older clients take 400 for the end of a session
	case newer:
		e.modern.ServeHTTP(w, r)
	default:
		if code, problem := m.outOfTurn(r); problem != "" {
			answer(w, http.StatusBadRequest, refuse(code, m.ID, problem))
			return
		}
		e.inSession(w, r, m)
	}
}

// inSession serves a message of an older revision, within the bounds of its
// sessions.
func (e *eras) inSession(w http.ResponseWriter, r *http.Request, m message) {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		if !e.sessions.start() {
			full(w, m.ID, "this server has as many sessions as it can have, and all are in use")
			return
		}
		defer func() { e.sessions.started(w.Header().Get("Mcp-Session-Id")) }()
		e.legacy.ServeHTTP(w, r)
		return
	}
	done, free := e.sessions.use(id, m.key)
	if !free {
		answer(w, http.StatusBadRequest, refuse(jsonrpc.CodeInvalidRequest, nil, inUse(m.key).Message))
		return
	}
	defer done()
	e.legacy.ServeHTTP(w, r)
}

// full tells a client to come again later.
func full(w http.ResponseWriter, id json.RawMessage, why string) {
	w.Header().Set("Retry-After", comeAgain)
	answer(w, http.StatusServiceUnavailable, refuse(codeBusy, id, why))
}

// codeBusy is the code of an error that is gone after a while.
const codeBusy = -32000

// severalOf returns a header of the protocol that stands more than once: what
// is in front of a server may read another one than the server does.
func severalOf(h http.Header) string {
	for name, values := range h {
		if len(values) > 1 && strings.HasPrefix(name, "Mcp-") {
			return name
		}
	}
	return ""
}

// without serves the methods that only sessions have.
func (e *eras) without(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= modern || r.Header.Get("Mcp-Session-Id") == "" {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "without a session there is POST only", http.StatusMethodNotAllowed)
		return
	}
	switch r.Method {
	case http.MethodGet:
		done, _ := e.sessions.use(r.Header.Get("Mcp-Session-Id"), jsonrpc.ID{})
		defer done()
		s, stop := newSteady(w, e.silence)
		defer stop()
		w = s
	case http.MethodDelete:
		defer e.calls.end(r.Header.Get("Mcp-Session-Id"))()
	}
	e.legacy.ServeHTTP(w, r)
}

// readBody reads the message, puts it back for the handler, and returns the
// status of what went wrong.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, err error) {
	clock := http.NewResponseController(w)
	_ = clock.SetReadDeadline(time.Now().Add(bodyTime)) // only a test's recorder has none
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = clock.SetReadDeadline(time.Time{})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("a message may have %d bytes", long.Limit)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("reading the message: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, 0, nil
}

// message is what decides where a message goes.
type message struct {
	ID     json.RawMessage
	key    jsonrpc.ID // the same, of a request
	Method string
	Params json.RawMessage
}

// peek reads that much of a body, or returns the answer to one that is no
// message.
func peek(body []byte) (m message, refused []byte) {
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return m, refuse(jsonrpc.CodeParseError, nil, "the body is empty")
	case body[0] == '[':
		return m, refuse(jsonrpc.CodeInvalidRequest, nil, "batches are not supported: send one message a request")
	}
	msg, refused := decode(body)
	if refused != nil {
		return m, refused
	}
	if req, ok := msg.(*jsonrpc.Request); ok {
		m = message{ID: member(body, "id"), key: req.ID, Method: req.Method, Params: req.Params}
	}
	return m, nil
}

// modern tells whether a message says of itself that it needs no session.
func (m message) modern() bool {
	return member(member(m.Params, "_meta"), mcp.MetaKeyProtocolVersion) != nil
}

// outOfTurn tells what is wrong with a message before or after the handshake.
// The SDK answers these with an error that has no code.
func (m message) outOfTurn(r *http.Request) (code int64, problem string) {
	session := r.Header.Get("Mcp-Session-Id") != ""
	switch {
	case m.Method == "initialize" && session:
		return jsonrpc.CodeInvalidRequest, "this session has been initialized"
	case m.Method == "initialize":
		var p mcp.InitializeParams
		if len(m.Params) == 0 || json.Unmarshal(m.Params, &p) != nil {
			return jsonrpc.CodeInvalidParams, "the params of initialize must be an object with protocolVersion, capabilities and clientInfo"
		}
	case !session && m.Method != "ping":
		return jsonrpc.CodeInvalidRequest, "there is no session: begin with initialize, or name the protocol version in _meta"
	}
	return 0, ""
}

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
