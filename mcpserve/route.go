package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/primary/agent"
)

// route answers requests about prompts and resources from the verbs, passes the
// methods that the server declares to the SDK, and refuses all others. The SDK
// would answer every method that it knows with an empty list.
func (s *Server) route(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req.GetParams().(type) {
		case *mcp.ListPromptsParams, *mcp.GetPromptParams, *mcp.ListResourcesParams, *mcp.ReadResourceParams:
			ctx, done, err := s.calls.begin(ctx, req.GetSession().ID(), nil)
			if err != nil {
				return nil, s.protocolError(err, nil)
			}
			defer done()
			return s.read(ctx, req)
		case *mcp.ListResourceTemplatesParams:
			return &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{}, Cacheable: cacheable(0)}, nil
		}
		switch method {
		case "initialize", "ping", "server/discover", "subscriptions/listen", "tools/list", "tools/call":
			return next(ctx, method, req)
		}
		if strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no method " + quoted(method)}
	}
}

// read answers a request about prompts or resources.
func (s *Server) read(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	switch params := req.GetParams().(type) {
	case *mcp.ListPromptsParams:
		return untyped(s.listPrompts(ctx, orZero(params)))
	case *mcp.GetPromptParams:
		return untyped(s.getPrompt(ctx, params))
	case *mcp.ListResourcesParams:
		return untyped(s.listResources(ctx, orZero(params)))
	case *mcp.ReadResourceParams:
		return untyped(s.readResource(ctx, params))
	}
	return nil, nil
}

// orZero returns params, or the zero value for a request without params.
func orZero[T any](params *T) *T {
	if params == nil {
		return new(T)
	}
	return params
}

// untyped returns a nil result with an error: a typed nil pointer in the
// interface would not be nil.
func untyped[R mcp.Result](res R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// protocolError converts an error of the verbs. Errors in the request have the
// code for invalid params, others that for internal errors. The home directory
// is shown as ~.
func (s *Server) protocolError(err error, facts map[string]string) *jsonrpc.Error {
	text := allFindings(err)
	if s.p.Home != "" && s.p.Home != string(filepath.Separator) {
		text = strings.ReplaceAll(text, s.p.Home, "~")
	}
	code := diag.CodeOf(err)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}
	switch code.Class() {
	case diag.ClassUsage, diag.ClassNotFound, diag.ClassUnresolvable, diag.ClassDenied:
		e.Code = jsonrpc.CodeInvalidParams
	}
	if code == diag.ValidationFailed {
		e.Code = jsonrpc.CodeInvalidParams
	}
	data := map[string]string{"code": string(code)}
	maps.Copy(data, facts)
	if raw, err := jsonx.Marshal(data); err == nil && code != "" {
		e.Data = raw
	}
	return e
}

// allFindings returns the text of an error with all its findings. The error
// itself states the first and the number of the others.
func allFindings(err error) string {
	var problems []string
	for _, f := range diag.FindingsOf(err) {
		if f.Severity == diag.SeverityError {
			problems = append(problems, f.String())
		}
	}
	text, cut := strings.CutSuffix(err.Error(), fmt.Sprintf(" (and %d more)", len(problems)-1))
	if !cut {
		return text
	}
	return text + "; " + strings.Join(problems[1:], "; ")
}

// recoverPanics turns a panic in a handler into an error response: it would end
// the process and every other call.
func (s *Server) recoverPanics(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(s.p.Stderr, "rye: panic in %s: %v\n%s\n", method, p, debug.Stack())
				res, err = bug(method)
			}
			err = visibleError(err)
			closeIfCancelled(ctx, req)
		}()
		return next(ctx, method, req)
	}
}

// bug returns the response to a request whose handler panicked. The stack and
// the text of the panic are not sent to the client.
func bug(method string) (mcp.Result, error) {
	const message = "this is a bug in rye; the log of the server has the details"
	if method != "tools/call" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
	}
	return result(agent.ErrorReply(diag.New(diag.Internal, message)), ""), nil
}

// visibleError returns an error whose text has visible characters only: it may
// quote the request.
func visibleError(err error) error {
	if err == nil {
		return nil
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{}
	}
	text := hidden.Visible(err.Error())
	if text != err.Error() {
		return &jsonrpc.Error{Code: e.Code, Message: text, Data: e.Data}
	}
	return err
}

// closeIfCancelled closes the stream of a request that its client has cancelled:
// the protocol permits no message after a cancellation. On stdio, and where
// closing the stream was the cancellation, there is none to close.
func closeIfCancelled(ctx context.Context, req mcp.Request) {
	extra := req.GetExtra()
	if ctx.Err() != nil && extra != nil && extra.CloseSSEStream != nil {
		extra.CloseSSEStream(mcp.CloseSSEStreamArgs{})
	}
}

func quoted(s string) string {
	return strconv.Quote(s)
}
