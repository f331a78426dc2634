package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/httpx"
)

// Limits of a server's list of tools.
const (
	MaxTools = 2000
	maxPages = 200
)

// Session is a connection to one server. It is safe for concurrent use.
type Session struct {
	server  *Server
	cs      *mcp.ClientSession
	program *program // nil for a server on the web
	web     *web     // nil for a program
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the connection has ended

	listing chan struct{} // contains a token while a caller lists the tools

	mu    sync.Mutex
	tools []Tool
	known bool // tools is current

	calls    int
	watchers map[string]*watcher // of running calls, by token
}

// Protocol returns the negotiated revision.
func (s *Session) Protocol() string {
	if r := s.cs.InitializeResult(); r != nil {
		return r.ProtocolVersion
	}
	return ""
}

// Software returns the name and version that the server reports.
func (s *Session) Software() string {
	r := s.cs.InitializeResult()
	if r == nil || r.ServerInfo == nil {
		return ""
	}
	return strings.TrimSpace(r.ServerInfo.Name + " " + r.ServerInfo.Version)
}

// Alive reports whether the server still answers.
func (s *Session) Alive() bool {
	return !isClosed(s.ended) && (s.program == nil || !s.program.dead())
}

// Close ends the connection, and the server if this process started it.
func (s *Session) Close() {
	if s.program != nil {
		_ = s.program.Close()
	}
	t := time.AfterFunc(stopGrace, s.cancel) // a remote server that does not answer must not block the caller
	defer t.Stop()
	_ = s.cs.Close()
	s.cancel()
}

func (s *Session) abandon() {
	if s.program != nil {
		_ = s.program.Close()
	}
	s.cancel()
}

func (s *Session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = false
}

// Tools returns the tools that the server offers. It lists them once, and again
// after the server reported a change.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, s.explain(ctx, "listing the tools", ctx.Err())
	}
	s.mu.Lock()
	tools := s.tools
	known := s.known
	s.known = true // set before listing: a change during it must clear it
	s.mu.Unlock()
	if known {
		return tools, nil
	}
	within, cancel := context.WithTimeout(ctx, s.server.Timeout)
	defer cancel()
	from := s.now()
	tools, err := s.list(within)
	if err != nil {
		s.forget()
		return nil, s.explainSince(ctx, from, "listing the tools", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
	return tools, nil
}

func (s *Session) list(ctx context.Context) ([]Tool, error) {
	r := s.cs.InitializeResult()
	if r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		return nil, nil // it declares no tools
	}
	var out []Tool
	seen := map[string]bool{}
	for cursor := ""; ; {
		res, err := s.cs.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		out = append(out, toolsOf(res)...)
		if len(out) > MaxTools {
			return nil, diag.New(diag.TooLarge, "the server offers more than %d tools", MaxTools)
		}
		if cursor = res.NextCursor; cursor == "" {
			return out, nil
		}
		if seen[cursor] || len(seen) == maxPages {
			return nil, diag.New(diag.ExecutionFailed, "the list of tools does not end: page %d leads back to %s", len(seen)+1, quoted(cursor))
		}
		seen[cursor] = true
	}
}

// toolsOf converts one page of the list. The library leaves out tools that it
// refuses, so a tool is matched with the server's text by order and name.
func toolsOf(res *mcp.ListToolsResult) []Tool {
	var out []Tool
	rest := rawTools(res.Meta)
	for _, t := range res.Tools {
		if t == nil {
			continue
		}
		var raw map[string]json.RawMessage
		for i, candidate := range rest {
			var name string
			if json.Unmarshal(candidate["name"], &name) == nil && name == t.Name {
				raw = candidate
				rest = rest[i+1:]
				break
			}
		}
		out = append(out, toolOf(t, raw))
	}
	return out
}

// Result is the result of a tool.
type Result struct {
	Content    []any
	Structured any // nil: none
	IsError    bool
}

// Data returns the result as a tool of rye returns it.
func (r *Result) Data() map[string]any {
	m := map[string]any{"success": !r.IsError, "content": r.Content, "isError": r.IsError}
	if r.Structured != nil {
		m["structuredContent"] = r.Structured
	}
	if r.IsError {
		m["error"] = r.text()
	}
	return m
}

// text returns the text of the content.
func (r *Result) text() string {
	var parts []string
	for _, c := range r.Content {
		m, ok := c.(map[string]any)
		if ok && m["type"] == "text" {
			s, _ := m["text"].(string)
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return "the server's tool reports an error without a text"
	}
	return strings.Join(parts, "\n")
}

// Call calls a tool. It fails if the server is silent for its timeout.
func (s *Session) Call(
	ctx context.Context,
	tool string,
	args map[string]any,
) (*Result, error) {
	return s.CallWatched(ctx, tool, args, func(_, _ float64, _ string) {})
}

// CallWatched is Call with the server's progress reports.
func (s *Session) CallWatched(
	ctx context.Context,
	tool string,
	args map[string]any,
	onProgress ProgressFunc,
) (*Result, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(s.server.Timeout, cancel)
	defer silence.Stop()
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	if args == nil {
		p.Arguments = map[string]any{}
	}
	token, done := s.watch(func(n, total float64, message string) {
		silence.Reset(s.server.Timeout)
		onProgress(n, total, message)
	})
	defer done()
	p.SetProgressToken(token)
	from := s.now()
	sent := &request{}
	res, err := s.cs.CallTool(context.WithValue(within, requestKey{}, sent), p)
	doing := "calling " + quoted(tool)
	if sent.unread.Load() { // the error can be a different one: the connection ends at the same time
		return nil, &forgottenError{s.explainSince(ctx, from, doing, mcp.ErrSessionMissing)}
	}
	if err != nil {
		return nil, s.explainSince(ctx, from, doing, err)
	}
	if len(res.InputRequests) > 0 || res.RequestState != "" {
		return nil, s.explainSince(ctx, from, doing, errors.New("it asks for input during the call, which rye does not support"))
	}
	r, err := resultOf(res)
	if err != nil {
		return nil, s.explainSince(ctx, from, doing, err)
	}
	return r, nil
}

// resultOf returns a result with every kind of content and every digit that the
// server sent.
func resultOf(res *mcp.CallToolResult) (*Result, error) {
	r := &Result{IsError: res.IsError, Content: []any{}}
	m := rawMembers(res.Meta)
	content, err := exact(m["content"])
	if err != nil {
		return nil, err
	}
	blocks, ok := content.([]any)
	if !ok && content != nil {
		return nil, diag.New(diag.ExecutionFailed, "its answer is not the result of a tool: content is not a list")
	}
	for _, block := range blocks {
		if _, ok := block.(map[string]any); ok {
			r.Content = append(r.Content, block)
		}
	}
	r.Structured, err = exact(m["structuredContent"])
	return r, err
}

// now returns the current moment of the server's output.
func (s *Session) now() moment {
	if s.program == nil {
		return moment{}
	}
	return s.program.now()
}

// explain returns an error that describes what the server did, given an error of
// the protocol library. ctx is the caller's.
func (s *Session) explain(ctx context.Context, doing string, err error) error {
	return s.explainSince(ctx, moment{}, doing, err)
}

// explainSince is explain with the server's output after a moment.
func (s *Session) explainSince(ctx context.Context, from moment, doing string, err error) error {
	what := doing + " " + preposition(doing) + "MCP server " + s.server.Name
	e := s.cause(ctx, what, err)
	if s.program == nil {
		if e.Code == diag.ExecutionFailed && e.Reason == "" {
			e.Reason = "mcp_remote"
		}
		return e
	}
	stderr, skipped := s.program.since(from)
	if stderr != "" {
		e.WithDetail(detailStderr, stderr)
	}
	if skipped != "" {
		e.WithDetail("not_a_message", skipped)
	}
	return e
}

// forgottenError means that the server did not read the request, because its session has ended.
type forgottenError struct{ error }

func (e *forgottenError) Unwrap() error {
	return e.error
}

// forgotten reports whether a server refused a request without reading it because
// its session has ended. Other calls of the session fail too, which the server may have read.
func forgotten(err error) bool {
	var e *forgottenError
	return errors.As(err, &e)
}

// Stderr returns the end of a server's stderr before err.
func Stderr(err error) string {
	var e *diag.Error
	if !errors.As(err, &e) {
		return ""
	}
	s, _ := e.Details[detailStderr].(string)
	return s
}

// detailStderr is the detail with the end of stderr.
const detailStderr = "stderr"

func preposition(doing string) string {
	if doing == "connecting" {
		return "to "
	}
	return "of "
}

// notSent is the code of the library's error for a request that did not reach the
// server.
const notSent = -32005

func (s *Session) cause(ctx context.Context, what string, err error) *diag.Error {
	var known *diag.Error
	var refused *jsonrpc.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return diag.New(diag.Cancelled, "%s: cancelled", what)
	case s.program != nil && s.program.failed():
		return s.program.ending(what, s.program.state(), s.cs == nil)
	case errors.Is(err, mcp.ErrSessionMissing):
		return diag.New(diag.Network, "%s: it no longer knows the session", what)
	case errors.As(err, &known):
		return diag.New(known.Code, "%s: %s", what, known.Message)
	case errors.As(err, &refused) && refused.Code != notSent && s.web != nil && s.web.discreet:
		_, outside := s.web.answered()
		return diag.New(diag.ExecutionFailed, "%s: it answered with an error (%s; JSON-RPC %d)", what, outside, refused.Code)
	case errors.As(err, &refused) && refused.Code != notSent:
		return diag.New(diag.ExecutionFailed, "%s: it answers %s", what, quoted(refused.Message)).
			WithDetail("jsonrpc_code", refused.Code)
	case errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, context.Canceled),
		ctx.Err() != nil:
		return diag.New(diag.Timeout, "%s: no answer within %s", what, s.server.Timeout.Round(time.Millisecond)).
			WithReason("mcp_timeout").WithDetail("server", s.server.Ref().String())
	case strings.Contains(err.Error(), " into Go "): // the library's words for a result of another shape
		return diag.New(diag.ExecutionFailed, "%s: its answer does not have the form that MCP requires", what)
	case s.web != nil:
		return s.web.failure(what, err)
	}
	return diag.New(diag.ExecutionFailed, "%s: %s", what, clipped(err.Error()))
}

// failure describes what a remote server did.
func (w *web) failure(what string, err error) *diag.Error {
	if refused := new(httpx.Refused); errors.As(err, &refused) {
		return diag.New(diag.PermissionDenied, "%s: %s; only public addresses are permitted here", what, refused).
			WithReason("mcp_private_address")
	}
	status, outside := w.answered()
	switch {
	case status == 0:
		if u := new(url.Error); errors.As(err, &u) {
			err = u.Err
		}
		return diag.New(diag.Network, "%s: %s", what, clipped(err.Error()))
	case status < 400:
		text := ""
		if !w.discreet {
			text = ": " + clipped(err.Error())
		}
		return diag.New(diag.Network, "%s: its answer is not MCP (%s)%s", what, outside, text).
			WithReason("not_mcp")
	case status == 401, status == 403:
		return diag.New(diag.AuthFailed, "%s: it refused the request (HTTP %d)", what, status).
			WithReason("mcp_token")
	case status == 404, status == 405:
		return diag.New(diag.Network, "%s: %s does not serve MCP at that path (HTTP %d)", what, w.origin.Host, status).
			WithReason("not_mcp")
	case status < 500 && status != 408 && status != 429, status == 501: // to try again does not help
		return diag.New(diag.Network, "%s: %s does not serve MCP at that path (%s)", what, w.origin.Host, outside).
			WithReason("not_mcp")
	default:
		return diag.New(diag.Network, "%s: %s", what, outside)
	}
}

func clipped(s string) string {
	const most = 300
	return cuttext.Short(s, most)
}
