package mcpserve

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// filter is a transport that keeps rules of the protocol which the SDK leaves to
// transports: a cancelled request gets no response, an id is used by one pending
// request, and every error has a code.
//
// Batches are refused in every revision: no client sends them.
type filter struct {
	mcp.Transport
	pending *pending
	limit   int // of requests without a response; 0 sets no limit
}

// unanswered is the limit for each call that may run at once.
const unanswered = 4

// Connect connects the transport below.
func (f *filter) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := f.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &filterConn{conn, f.pending, f.limit}, nil
}

type filterConn struct {
	mcp.Connection
	pending *pending
	limit   int
}

// Read returns the next message for the SDK. An invalid request is answered here
// and not returned.
func (c *filterConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		req, ok := msg.(*jsonrpc.Request)
		if ok &&
			req.IsCall() &&
			c.limit > 0 &&
			c.pending.count() >= c.limit {
			// Nothing is read while this waits for the client, so a client that sends and
			// does not read uses no more memory.
			err := c.Connection.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
				Code: codeBusy, Message: fmt.Sprintf("%d requests have no answer yet: read the answers first", c.limit),
			}})
			if err != nil {
				return nil, err
			}
			continue
		}
		free := c.pending.add(msg)
		switch {
		case !free:
			err = c.Connection.Write(ctx, &jsonrpc.Response{Error: idInUse(req.ID)})
		case ok && req.IsCall() && paramsProblem(req.Method, req.Params) != "":
			err = c.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: paramsProblem(req.Method, req.Params),
			}})
		default:
			return msg, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Write sends a message, except those about a request that was cancelled.
func (c *filterConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		if err := ctx.Err(); err != nil {
			return err // a notification about a cancelled request
		}
		return c.Connection.Write(ctx, msg)
	}
	defer c.pending.endResponse()
	if c.pending.beginResponse(res.ID) {
		return nil
	}
	return c.Connection.Write(ctx, withCode(res))
}

// withCode gives an error without a code the code of an invalid request: the SDK
// has none for a request before the handshake and for a second handshake.
func withCode(res *jsonrpc.Response) jsonrpc.Message {
	if res.Error == nil {
		return res
	}
	res.Error = visibleError(res.Error)
	var e *jsonrpc.Error
	if errors.As(res.Error, &e) && e.Code != 0 {
		return res
	}
	return &jsonrpc.Response{ID: res.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: res.Error.Error()}}
}
