package env

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/primary/agent"
)

// brokerLeave is how long the end of a program waits for the calls that it made: the
// programs of these calls have proc.DefaultGrace to end.
const brokerLeave = 2 * proc.DefaultGrace

// serveBroker returns the function that serves the verbs to a program, on a connection
// that has no address and that only the program and this process have.
func serveBroker(c *cli.Call) func(context.Context, *agent.Broker) (exec.Connection, error) {
	stderr := &VisibleWriter{U: c.UI}
	return func(ctx context.Context, b *agent.Broker) (exec.Connection, error) {
		ours, theirs, err := proc.Pair()
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(ctx)
		out := &brokerConn{
			ours:   ours,
			theirs: theirs,
			cancel: cancel,
			broker: b,
			served: make(chan struct{}),
		}
		s := mcpserve.New(mcpserve.Params{
			Verbs:    b,
			Name:     "rye",
			Version:  c.Program.Version,
			Stderr:   stderr,
			Calls:    agent.MaxBrokerCalls,
			Shutdown: brokerLeave,
		})
		go func() {
			err := s.Stdio(ctx, ours, ours)
			ours.Close() // a program that waits for an answer would wait without end
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(stderr, "rye: warning: the broker of a program ended: %v\n", err)
			}
			close(out.served)
		}()
		return out, nil
	}
}

// brokerConn is the connection of one program.
type brokerConn struct {
	ours   net.Conn
	theirs *os.File
	cancel context.CancelFunc
	broker *agent.Broker
	served chan struct{}
}

func (b *brokerConn) File() *os.File {
	return b.theirs
}

// End closes the connection first: nothing that the program left behind is read after
// it.
func (b *brokerConn) End() {
	b.ours.Close()
	b.cancel()
}

func (b *brokerConn) Wait() exec.BrokerCalls {
	b.End()
	select {
	case <-b.served:
	case <-time.After(2 * brokerLeave):
	}
	return b.broker.Made()
}
