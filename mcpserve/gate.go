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

// gate lets through what the server has said it can do, and answers the
// questions about prompts and resources from the verbs. The SDK would answer
// every method it knows, with an empty list where there is nothing.
func (s *Server) gate(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch req.GetParams().(type) {
		case *mcp.ListPromptsParams, *mcp.GetPromptParams, *mcp.ListResourcesParams, *mcp.ReadResourceParams:
			ctx, done, err := s.calls.enter(ctx, req.GetSession().ID(), nil)
			if err != nil {
				return nil, s.problem(err, nil)
			}
			defer done()
			return s.look(ctx, req)
		case *mcp.ListResourceTemplatesParams:
			return &mcp.ListResourceTemplatesResult{ResourceTemplates: []*mcp.ResourceTemplate{}, Cacheable: keep(0)}, nil
		}
		if !declared(method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "this server has no method " + quoted(method)}
		}
		return next(ctx, method, req)
	}
}

// look answers the questions about prompts and resources.
func (s *Server) look(ctx context.Context, req mcp.Request) (mcp.Result, error) {
	switch params := req.GetParams().(type) {
	case *mcp.ListPromptsParams:
		return reply(s.listPrompts(ctx, given(params)))
	case *mcp.GetPromptParams:
		return reply(s.getPrompt(ctx, params))
	case *mcp.ListResourcesParams:
		return reply(s.listResources(ctx, given(params)))
	case *mcp.ReadResourceParams:
		return reply(s.readResource(ctx, params))
	}
	return nil, nil
}

// given is what a request said, nothing where it had no params at all.
func given[T any](params *T) *T {
	if params == nil {
		return new(T)
	}
	return params
}

// declared tells the methods that the SDK answers.
func declared(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", "subscriptions/listen", "tools/list", "tools/call":
		return true
	}
	return strings.HasPrefix(method, "notifications/")
}

// reply drops the typed nil that stands beside an error.
func reply[R mcp.Result](res R, err error) (mcp.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// problem is an error of the verbs as the protocol tells it: what is wrong with
// the question is the client's affair, everything else the server's. Where the
// person's home is is nobody's.
func (s *Server) problem(err error, facts map[string]string) *jsonrpc.Error {
	code := diag.CodeOf(err)
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: s.withoutHome(everyProblem(err))}
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

func (s *Server) withoutHome(text string) string {
	if s.p.Home == "" || s.p.Home == string(filepath.Separator) {
		return text
	}
	return strings.ReplaceAll(text, s.p.Home, "~")
}

// everyProblem is the text of an error with all of its findings: that of
// several tells the first and how many there are.
func everyProblem(err error) string {
	var wrong []string
	for _, f := range diag.FindingsOf(err) {
		if f.Severity == diag.SeverityError {
			wrong = append(wrong, f.String())
		}
	}
	text, cut := strings.CutSuffix(err.Error(), fmt.Sprintf(" (and %d more)", len(wrong)-1))
	if !cut {
		return text
	}
	return text + "; " + strings.Join(wrong[1:], "; ")
}

// survive turns a panic in a handler into an answer: it would end the process
// and every other call with it. It also ends the answers that nobody may have.
func (s *Server) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.report(method, p, debug.Stack())
				res, err = bug(method)
			}
			err = plainError(err)
			hush(ctx, req)
		}()
		return next(ctx, method, req)
	}
}

// plainError is an error as a client may show it: it may quote what came with
// the request.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{}
	}
	if text := hidden.Visible(err.Error()); text != err.Error() {
		return &jsonrpc.Error{Code: e.Code, Message: text, Data: e.Data}
	}
	return err
}

func (s *Server) report(method string, p any, stack []byte) {
	fmt.Fprintf(s.p.Stderr, "rye: panic in %s: %v\n%s\n", method, p, stack)
}

// bug is the answer to a request whose handler went wrong. Neither the stack
// nor the text of the panic leaves the machine.
func bug(method string) (mcp.Result, error) {
	const message = "this is a bug in rye; the log of the server has the details"
	if method != "tools/call" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
	}
	return result(agent.ErrorReply(diag.New(diag.Internal, message))), nil
}

// hush closes the stream of a request that its client has cancelled: nothing
// may follow a cancellation. Where the stream itself is the cancellation, and
// on stdio, there is no such stream.
func hush(ctx context.Context, req mcp.Request) {
	if extra := req.GetExtra(); ctx.Err() != nil && extra != nil && extra.CloseSSEStream != nil {
		extra.CloseSSEStream(mcp.CloseSSEStreamArgs{})
	}
}

func quoted(s string) string { return strconv.Quote(s) }
