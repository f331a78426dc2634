// Package mcpserve shows the four verbs of rye to clients of the Model Context
// Protocol, over stdio and over HTTP, in both eras of the protocol: the one
// with a handshake and sessions, and the one without either. Directives are
// prompts as well, knowledge is resources.
//
// It knows no items: what a verb does, what it is called and what a model reads
// about it come from a [Verbs]. It is no client of other servers, it keeps no
// state between calls but the list of those that run, and it writes nothing to
// stdout but the protocol.
package mcpserve

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/primary/agent"
)

// Verbs is what a server serves.
type Verbs interface {
	Definitions(ctx context.Context) (*agent.Definitions, error)
	Call(ctx context.Context, req agent.Request) *agent.Reply
	Prompts(ctx context.Context) ([]agent.Prompt, error)
	Prompt(ctx context.Context, name string, args map[string]string) (*agent.PromptText, error)
	Resources(ctx context.Context) ([]agent.Resource, error)
	Resource(ctx context.Context, uri string) (text string, mime string, err error)
}

// LeaveTime is how long a server that ends waits for the calls it has
// cancelled.
const LeaveTime = 2 * time.Second

// cacheTime is how long a client may keep a list: the definitions stay the same
// while a server runs, and prompts and resources are only shown.
const cacheTime = time.Hour

// Params are what a server is made from.
type Params struct {
	Verbs Verbs

	Name    string // what clients call the server
	Title   string // what people read; empty: Name
	Version string

	Logger *slog.Logger // what happens, never on stdout; nil: nobody hears
	Stderr io.Writer    // the stack of a panic; nil: nowhere
	Home   string       // the person's home folder, which errors show as ~; empty: unknown
}

// Server serves verbs to clients. It may serve several at once.
type Server struct {
	p     Params
	calls *calls
}

// New returns a server.
func New(p Params) *Server {
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	return &Server{p: p, calls: newCalls(maxRunning, maxWaiting)}
}

// protocol returns the SDK's server with the verbs as its tools. Their texts
// are read once: clients keep them anyway.
func (s *Server) protocol(ctx context.Context) (*mcp.Server, error) {
	defs, err := s.p.Verbs.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(
		&mcp.Implementation{Name: s.p.Name, Title: s.p.Title, Version: s.p.Version},
		&mcp.ServerOptions{
			Instructions: defs.Instructions,
			Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
			},
			Logger:       s.p.Logger,
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = keep(cacheTime) },
		})
	for _, d := range defs.Tools {
		if err := addTool(server, tool(d), s.callTool(d.Name)); err != nil {
			return nil, err
		}
	}
	server.AddReceivingMiddleware(s.survive, s.gate)
	return server, nil
}

// addTool adds a verb, unless its item holds a schema that no client could read:
// the SDK panics then.
func addTool(server *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.New(diag.ConfigError, "offering %s: the MCP library does not accept the schema of its item: %v", t.Name, p)
		}
	}()
	server.AddTool(t, h)
	return nil
}

// keep allows one client to keep an answer for a while: what a project holds
// is nobody else's business.
func keep(d time.Duration) mcp.Cacheable {
	return mcp.Cacheable{TTLMs: int(d.Milliseconds()), CacheScope: "private"}
}
