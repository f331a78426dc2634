package mcpserve

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client until its input ends or ctx is cancelled. Then it
// cancels the running calls and waits for them at most LeaveTime. The caller must
// not read from in or write to out.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	server, err := s.protocol(ctx)
	if err != nil {
		return err
	}
	return s.stdio(ctx, server, in, out)
}

func (s *Server) stdio(
	ctx context.Context,
	server *mcp.Server,
	in io.Reader,
	out io.Writer,
) error {
	l := &lines{
		in:      in,
		out:     out,
		stop:    ctx.Done(),
		ended:   make(chan struct{}),
		pending: newPending(),
	}
	session, err := server.Connect(
		context.WithoutCancel(ctx),
		&filter{Transport: l, pending: l.pending, limit: unanswered * s.p.Calls},
		nil,
	)
	if err != nil {
		return fmt.Errorf("starting a session: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-l.ended:
	case <-ctx.Done():
	}
	s.calls.stop(s.p.Shutdown)
	if err != nil {
		return fmt.Errorf("serving on stdio: %w", err)
	}
	return nil
}
