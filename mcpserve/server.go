// Package mcpserve serves the four verbs of rye to clients of the Model Context
// Protocol, over stdio and over HTTP: in the revisions with a handshake and
// sessions, and in the newer ones without. Directives are prompts, knowledge
// items are resources.
//
// It does not know items: the verbs, their names and their texts come from a
// [Verbs]. It is not a client of other servers (see internal/mcpclient). It keeps
// no state between calls except the running ones, and it writes only protocol
// messages to stdout.
package mcpserve

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/primary/agent"
)

// Verbs are the tools, prompts and resources that a server offers.
type Verbs interface {
	Definitions(ctx context.Context) (*agent.Definitions, error)
	Call(ctx context.Context, req agent.Request) *agent.Reply
	Prompts(ctx context.Context) ([]agent.Prompt, error)
	Prompt(ctx context.Context, name string, args map[string]string) (*agent.PromptText, error)
	Resources(ctx context.Context) ([]agent.Resource, error)
	Resource(ctx context.Context, uri string) (text string, mime string, err error)
}

// ShutdownTimeout is the time that a server which ends waits for cancelled calls.
const ShutdownTimeout = 2 * time.Second

// cacheTime is the time that a client may cache the list of tools, which does not
// change while a server runs.
const cacheTime = time.Hour

// Params are the parameters of New. Verbs is required.
type Params struct {
	Verbs Verbs

	Name    string // what clients call the server
	Title   string // shown to users; "" is Name
	Version string

	Logger *slog.Logger // must not write to stdout; nil discards
	Stderr io.Writer    // receives the stack of a panic; nil discards
	Home   string       // the home directory, shown as ~ in errors; "" is unknown

	// Calls is the number of calls that run at once; one more is refused. Zero is the
	// default, with which other calls wait. Stdio with Calls also refuses requests while
	// many have no answer, for a client that does not read.
	Calls int
	// Shutdown is how long a server that ends waits for cancelled calls. Zero is
	// ShutdownTimeout.
	Shutdown time.Duration
}

// Server serves verbs to clients. It may serve several at once.
type Server struct {
	p      Params
	calls  *calls
	secret [32]byte // of this process: authenticates the states of calls
}

// New returns a server.
func New(p Params) *Server {
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	if p.Stderr == nil {
		p.Stderr = io.Discard
	}
	if p.Shutdown == 0 {
		p.Shutdown = ShutdownTimeout
	}
	running := maxRunning
	waiting := maxWaiting
	if p.Calls > 0 {
		running = p.Calls
		waiting = 0
	}
	s := &Server{p: p, calls: newCalls(running, waiting)}
	_, _ = rand.Read(s.secret[:]) // never fails
	return s
}

// protocol returns an SDK server with the verbs as its tools. Their definitions
// are read once, because clients cache them.
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
			Logger: s.p.Logger,
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
				*c = cacheable(cacheTime)
			},
		})
	for _, d := range defs.Tools {
		err := addTool(server, newTool(d), s.callTool(d.Name))
		if err != nil {
			return nil, err
		}
	}
	server.AddReceivingMiddleware(s.recoverPanics, s.route)
	server.AddSendingMiddleware(declineIncomplete)
	return server, nil
}

// addTool adds a verb. The SDK panics on a schema that it does not support.
func addTool(server *mcp.Server, t *mcp.Tool, h mcp.ToolHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.New(diag.ConfigError, "offering %s: the MCP library does not accept the schema of its item: %v", t.Name, p)
		}
	}()
	server.AddTool(t, h)
	return nil
}

// cacheable permits one client to cache a result for d. Shared caches must not:
// the contents of a project are private.
// Changes of lists are not announced. The tools are read once, because clients keep them.
func cacheable(d time.Duration) mcp.Cacheable {
	return mcp.Cacheable{TTLMs: int(d.Milliseconds()), CacheScope: "private"}
}
