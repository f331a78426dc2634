package mcpserve

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
)

const (
	// maxBody is the longest message that HTTP takes, in bytes.
	maxBody = 4 << 20
	// bodyTime is how long a client may take to send one.
	bodyTime = 30 * time.Second
	// sessionTime is how long a session lives that says nothing.
	sessionTime = 30 * time.Minute
)

// HTTPParams are what the HTTP side adds. The zero value serves the programs of
// this machine.
type HTTPParams struct {
	// Token is what clients must show as a bearer token; empty: nothing.
	Token string
	// Origins are the web origins, such as "https://example.com", whose pages
	// may call the server besides programs, and whose names it answers to.
	Origins []string
	// Beyond says that the server can be reached from other machines. Then a
	// token is needed, and a client may use any address of this one.
	Beyond bool
}

// Handler returns what answers at /mcp and /healthz.
func (s *Server) Handler(ctx context.Context, p HTTPParams) (http.Handler, error) {
	server, err := s.protocol(ctx)
	if err != nil {
		return nil, err
	}
	return s.handler(server, p)
}

// handler is Handler around any server, which is how the tests hold it against
// tools, prompts and resources that rye does not have.
func (s *Server) handler(server *mcp.Server, p HTTPParams) (http.Handler, error) {
	if p.Beyond && p.Token == "" {
		return nil, diag.New(diag.Usage, "serving beyond this machine: there is no token").WithReason("no_token")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("/mcp", p.authorized(s.streamable(server)))
	return p.guarded(mux), nil
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// Serve answers on a listener until ctx ends, and calls ready when it begins.
// Calls that still run at the end are cancelled and waited for, but no longer
// than LeaveTime.
func (s *Server) Serve(ctx context.Context, l net.Listener, p HTTPParams, ready func()) error {
	server, err := s.protocol(ctx)
	if err != nil {
		return err
	}
	handler, err := s.handler(server, p)
	if err != nil {
		return err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	ready()
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	select {
	case err := <-ended:
		s.calls.leave(LeaveTime)
		return diag.New(diag.Network, "serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.close(context.WithoutCancel(ctx), web, server)
}

// close ends calls first, then the sessions that wait for nothing, then the
// connections.
func (s *Server) close(ctx context.Context, web *http.Server, server *mcp.Server) error {
	s.calls.leave(LeaveTime)
	for session := range server.Sessions() {
		go session.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	err := web.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = web.Close()
	}
	return err
}
