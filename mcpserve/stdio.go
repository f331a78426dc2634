package mcpserve

import (
	"context"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Stdio serves one client until its input ends or ctx does, whichever comes
// first. Calls that still run are then cancelled and waited for, but no longer
// than LeaveTime. Nothing else may read in or write to out.
func (s *Server) Stdio(ctx context.Context, in io.Reader, out io.Writer) error {
	server, err := s.protocol(ctx)
	if err != nil {
		return err
	}
	return s.stdio(ctx, server, in, out)
}

func (s *Server) stdio(ctx context.Context, server *mcp.Server, in io.Reader, out io.Writer) error {
	l := &lines{in: in, out: out, stop: ctx.Done(), over: make(chan struct{}), open: newOpen()}
	session, err := server.Connect(context.WithoutCancel(ctx), &silent{Transport: l, open: l.open}, nil)
	if err != nil {
		return fmt.Errorf("starting a session: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-l.over:
	case <-ctx.Done():
	}
	s.calls.leave(LeaveTime)
	if err != nil {
		return fmt.Errorf("serving on stdio: %w", err)
	}
	return nil
}
