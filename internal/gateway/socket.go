package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads/transcript"
)

const (
	socketProtocol = "rye.v1"
	// inFlight is the number of operations of a socket at a time.
	inFlight   = 64
	socketPing = 20 * time.Second
)

// asked is a message of a client: a request of the API, or with Subscribe the events of a thread.
type asked struct {
	ID        int64           `json:"id"`
	Method    string          `json:"method,omitempty"`
	Path      string          `json:"path,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
	Subscribe string          `json:"subscribe,omitempty"` // the id of a thread
	Tree      bool            `json:"tree,omitempty"`
	After     string          `json:"after,omitempty"` // the position of the last event that the client has
}

// answered is a message of the server.
type answered struct {
	ID       int64           `json:"id"`
	Status   int             `json:"status,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Position string          `json:"position,omitempty"`
	Event    *streamed       `json:"event,omitempty"`
}

// socket serves requests and events over a WebSocket. The guard has checked the origin, and a request has
// the same checks as one over HTTP, because it is one.
func (s *Server) socket(
	w http.ResponseWriter,
	r *http.Request,
	caller *who,
) {
	if r.Header.Get("Origin") == "" && caller.form != "" {
		fail(w, http.StatusForbidden, diag.New(diag.PermissionDenied, "reading the request: a session of a browser needs the header Origin"))
		return
	}
	release, ok := s.streams.add(caller.key)
	if !ok {
		tooMany(w, time.Second)
		return
	}
	defer release()
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{socketProtocol},
		InsecureSkipVerify: true, // the guard compared the origin with every name of the server
	})
	if err != nil {
		return // it has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxBody)
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	conn := &socketConn{
		s:      s,
		c:      c,
		r:      r.WithContext(ctx),
		caller: caller,
		slots:  make(chan struct{}, inFlight),
	}
	conn.wait.Go(func() {
		cancel(conn.keepAlive(ctx))
	})
	conn.read(ctx)
	cancel(nil)
	conn.wait.Wait()
}

// socketConn is an open socket.
type socketConn struct {
	s      *Server
	c      *websocket.Conn
	r      *http.Request
	caller *who
	slots  chan struct{}
	wait   sync.WaitGroup
}

// keepAlive pings the client, and ends the socket when the key ends.
func (k *socketConn) keepAlive(ctx context.Context) error {
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(alive):
		}
		if _, err := k.s.identify(k.r); err != nil {
			_ = k.c.Close(websocket.StatusPolicyViolation, "the key has ended")
			return err
		}
		if time.Since(last) < socketPing {
			continue
		}
		last = time.Now()
		within, cancel := context.WithTimeout(ctx, writeLimit)
		err := k.c.Ping(within)
		cancel()
		if err != nil {
			return err
		}
	}
}

// read serves the messages of the client until it leaves.
func (k *socketConn) read(ctx context.Context) {
	for {
		_, b, err := k.c.Read(ctx)
		if err != nil {
			return
		}
		var m asked
		_, found := jsonx.ParseMessage(b)
		err = diag.FromFindings("reading a message", found)
		if err == nil {
			err = json.Unmarshal(b, &m)
		}
		if err != nil {
			k.failed(ctx, 0, http.StatusBadRequest, diag.New(diag.Usage, "reading a message: it is not a JSON object of the protocol %s", socketProtocol))
			continue
		}
		select {
		case k.slots <- struct{}{}:
		default:
			k.failed(ctx, m.ID, http.StatusTooManyRequests, diag.New(diag.LimitExceeded, "reading a message: %d operations are in progress", inFlight))
			continue
		}
		k.wait.Go(func() {
			defer func() { <-k.slots }()
			if m.Subscribe != "" {
				k.subscribe(ctx, &m)
				return
			}
			k.request(ctx, &m)
		})
	}
}

// send writes a message.
func (k *socketConn) send(ctx context.Context, m answered) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// A client that does not read ends its socket, not the gateway.
	within, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return k.c.Write(within, websocket.MessageText, b)
}

func (k *socketConn) failed(ctx context.Context, id int64, status int, err error) {
	b, _ := json.Marshal(failed(status, err)) // it has no value that JSON lacks
	_ = k.send(ctx, answered{
		ID:     id,
		Status: status,
		Body:   b,
	})
}

// request serves a request of the API with the headers of the socket.
func (k *socketConn) request(ctx context.Context, m *asked) {
	if !strings.HasPrefix(m.Path, apiPath+"/") ||
		strings.HasPrefix(m.Path, apiPath+"/events") ||
		strings.HasPrefix(m.Path, apiPath+"/ws") {
		k.failed(ctx, m.ID, http.StatusBadRequest, diag.New(diag.Usage, "reading a message: path must be one of %s without a stream", apiPath))
		return
	}
	r, err := http.NewRequestWithContext(ctx, m.Method, m.Path, bytes.NewReader(m.Body))
	if err != nil {
		k.failed(ctx, m.ID, http.StatusBadRequest, diag.New(diag.Usage, "reading a message: method or path is not valid"))
		return
	}
	// The request has the rights of the socket, and no header of the message.
	for _, name := range []string{"Authorization", "Cookie", "Origin", "X-Forwarded-For"} {
		r.Header[name] = k.r.Header[name]
		if k.r.Header[name] == nil {
			delete(r.Header, name)
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Host = k.r.Host
	r.RemoteAddr = k.r.RemoteAddr
	w := newRecorder()
	k.s.Handler().ServeHTTP(w, r)
	body := bytes.TrimSpace(w.body.Bytes())
	if !json.Valid(body) {
		body = nil
	}
	_ = k.send(ctx, answered{
		ID:     m.ID,
		Status: w.code,
		Body:   body,
	})
}

// subscribe sends the events of a thread until the client leaves.
func (k *socketConn) subscribe(ctx context.Context, m *asked) {
	after, err := readPosition(m.After)
	if err != nil {
		k.failed(ctx, m.ID, http.StatusBadRequest, err)
		return
	}
	t, err := k.s.newStream(
		k.s.view(k.caller),
		m.Subscribe,
		m.Tree,
		after,
	)
	if err != nil {
		k.failed(ctx, m.ID, statusOf(err), err)
		return
	}
	defer t.watch.close()
	nothing := func() error {
		return nil
	}
	_ = k.s.run(k.r, t.watch, pieces, nothing, func() error {
		return t.next(ctx, func(id string, l *transcript.Line) error {
			return k.send(ctx, answered{
				ID:       m.ID,
				Position: t.position(),
				Event:    &streamed{Thread: id, Line: host.LineOf(l)},
			})
		})
	})
}
