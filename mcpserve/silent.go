package mcpserve

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// silent makes a transport keep the rules that the SDK leaves to it: a request
// that was cancelled gets no answer, and every error has a code.
type silent struct {
	mcp.Transport
	open *open
}

// Connect connects the transport below.
func (s *silent) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := s.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &silentConn{conn, s.open}, nil
}

type silentConn struct {
	mcp.Connection
	open *open
}

// Read takes note of what arrives.
func (c *silentConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		msg, err := c.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		free := c.open.arrived(msg)
		req, ok := msg.(*jsonrpc.Request)
		switch {
		case !free:
			err = c.Connection.Write(ctx, &jsonrpc.Response{Error: inUse(req.ID)})
		case ok && req.IsCall() && wrongParams(req.Method, req.Params) != "":
			err = c.Write(ctx, &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{
				Code: jsonrpc.CodeInvalidParams, Message: wrongParams(req.Method, req.Params),
			}})
		default:
			return msg, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Write sends a message, unless it belongs to a request that was cancelled.
func (c *silentConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if res, ok := msg.(*jsonrpc.Response); ok {
		defer c.open.answered()
		if c.open.answering(res.ID) {
			return nil
		}
		msg = withCode(res)
	} else if err := ctx.Err(); err != nil {
		return err // a word about a request that was cancelled
	}
	return c.Connection.Write(ctx, msg)
}

// withCode gives an error without a code the one of an invalid request: the
// SDK has none for a request before the handshake, and for a second handshake.
func withCode(res *jsonrpc.Response) jsonrpc.Message {
	if res.Error == nil {
		return res
	}
	res.Error = plainError(res.Error)
	if codeOf(res.Error) != 0 {
		return res
	}
	return &jsonrpc.Response{ID: res.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: res.Error.Error()}}
}

func codeOf(err error) int64 {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
