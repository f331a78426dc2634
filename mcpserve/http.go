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
	// maxBody is the maximum length of a message over HTTP, in bytes.
	maxBody = 4 << 20
	// bodyTime is the time that a client may take to send one.
	bodyTime = 30 * time.Second
	// sessionTime is the time after which an idle session ends.
	sessionTime = 30 * time.Minute
)

// HTTPParams are the parameters of the HTTP transport. The zero value serves the
// programs of this machine.
type HTTPParams struct {
	// Token is the bearer token that clients must send; "" requires none.
	Token string
	// Origins are the web origins, such as "https://example.com", whose pages may
	// call the server and whose host names it serves.
	Origins []string
	// Remote states that other machines can reach the server. Then Token is
	// required, and every address of this machine is accepted as a host name.
	Remote bool
}

// handler returns the handler of /mcp and /healthz for an SDK server.
func (s *Server) handler(server *mcp.Server, p HTTPParams) (http.Handler, error) {
	if p.Remote && p.Token == "" {
		return nil, diag.New(diag.Usage, "serving other machines: no token is set").WithReason("no_token")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("/mcp", p.checkToken(s.streamable(server)))
	return p.checkOrigin(mux), nil
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}` + "\n"))
}

// Serve serves a listener until ctx is cancelled, and calls ready when it begins.
// Then it cancels the running calls and waits for them at most LeaveTime.
func (s *Server) Serve(ctx context.Context, l net.Listener, p HTTPParams, ready func()) error {
	server, err := s.protocol(ctx)
	if err != nil {
		return err
	}
	handler, err := s.handler(server, p)
	if err != nil {
		return err
	}
	web := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	ready()
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	select {
	case err := <-ended:
		s.calls.stop(ShutdownTimeout)
		return diag.New(diag.Network, "serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	return s.close(context.WithoutCancel(ctx), web, server)
}

// close cancels the calls first: sessions and connections wait for them.
func (s *Server) close(ctx context.Context, web *http.Server, server *mcp.Server) error {
	s.calls.stop(ShutdownTimeout)
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
