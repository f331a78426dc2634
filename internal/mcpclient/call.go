package mcpclient

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// call is the function of the runtimes: it calls the server's tool that the first
// item of the chain represents.
func (c *client) call(ctx context.Context, in exec.NativeCall) (map[string]any, error) {
	settings, _ := in.Config["settings"].(map[string]any)
	transport, _ := settings["transport"].(string)
	report := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			if in.OnLine != nil && line != "" {
				in.OnLine(proc.Stderr, []byte(line))
			}
		}
	}
	data, err := c.callStub(ctx, &in, transport, report)
	report(Stderr(err)) // shown after failures only
	return data, err
}

// callStub calls the server's tool that a verified item represents, if the server
// still describes it as in the signed item.
func (c *client) callStub(
	ctx context.Context,
	in *exec.NativeCall,
	transport string,
	report func(string),
) (map[string]any, error) {
	it := in.Chain.Tool()
	stub, err := ReadStub(it)
	if err != nil {
		return nil, err
	}
	server, err := c.serverOf(ctx, in, stub, transport)
	if err != nil {
		return nil, err
	}
	for retry := true; ; retry = false {
		session, err := c.checked(ctx, it, stub, server, in)
		if err != nil {
			return nil, err
		}
		if in.Applied != nil {
			in.Applied(session.Sandbox())
		}
		res, err := session.CallWatched(ctx, stub.Tool, in.Parameters, progressOf(in.Progress, report))
		switch {
		case err == nil:
			data := res.Data()
			if problems := outputProblems(it, res); len(problems) > 0 {
				data["warnings"] = problems
			}
			return data, nil
		case retry && forgotten(err):
			session.Close() // the server refused the session before it read the call
		default:
			return nil, err
		}
	}
}

// staleReason returns the reason of an error about a tool that no longer matches
// its server. The user refreshes the server in the space of the tool.
func staleReason(tool *resolve.Item) string {
	if tool.Root.Space == space.User {
		return "mcp_stale_user"
	}
	return "mcp_stale"
}

// transportOf returns the transport of a server as runtimes name it.
func transportOf(s *Server) string {
	if s.Transport == SSE {
		return HTTP
	}
	return s.Transport
}

// serverOf resolves the server of a stub by a static edge, checks that the caller
// may use it, and fills in its variables.
func (c *client) serverOf(
	ctx context.Context,
	in *exec.NativeCall,
	stub *Stub,
	transport string,
) (*Server, error) {
	it := in.Chain.Tool()
	ref := ServerRef(stub.Server)
	found, err := c.p.Resolver.FindFrom(ctx, ref, it.Root)
	if err != nil {
		if diag.CodeOf(err) == diag.ExecutorNotFound {
			err = diag.New(diag.ToolNotFound, "%w, named as config.server by %s", err, it.Ref).
				WithReason("mcp_server_missing").WithDetail("server", stub.Server)
		}
		return nil, err
	}
	server, err := ReadServer(found)
	if err != nil {
		return nil, err
	}
	if kind := transportOf(server); transport != "" && transport != kind {
		return nil, diag.New(diag.ConfigError, "running %s: its executor is for %s servers, but %s has transport %s", it.Ref, transport, ref, server.Transport).
			WithReason(staleReason(it)).WithDetail("server", stub.Server)
	}
	if now := server.Reached(); now != stub.Reached {
		return nil, diag.New(diag.HashMismatch, "running %s: %s describes another way to the server than when the tool was signed", it.Ref, found.Path()).
			WithReason(staleReason(it)).
			WithDetail("server", stub.Server).
			WithDetail("expected", stub.Reached.String()).
			WithDetail("found", now.String())
	}
	if err := allowed(in, server); err != nil {
		return nil, err
	}
	return c.fill(found, server, in.Env)
}

// fill fills in the variables of a server. Those that the chain does not declare
// come from Environ, if the server may receive them.
func (c *client) fill(
	it *resolve.Item,
	s *Server,
	env map[string]string,
) (*Server, error) {
	environ := c.p.Environ
	if slices.ContainsFunc(s.Variables(), func(name string) bool { _, has := env[name]; return !has }) {
		if c.p.Secrets == nil {
			environ = nil
		} else if err := c.p.Secrets(it); err != nil {
			return nil, err
		}
	}
	return s.Expand(env, environ)
}

// checked returns a session whose server describes the tool as in the signed item.
// A server that ended since the last call is started again once; nothing was
// requested from it yet.
func (c *client) checked(
	ctx context.Context,
	it *resolve.Item,
	stub *Stub,
	s *Server,
	in *exec.NativeCall,
) (*Session, error) {
	o := c.options(in)
	dial := func(ctx context.Context) (*Session, error) {
		return Connect(ctx, o, s)
	}
	for retry := true; ; retry = false {
		session, err := c.p.Pool.Get(ctx, poolKey(s, o), dial)
		if err != nil {
			return nil, err
		}
		tools, err := session.Tools(ctx)
		if err == nil {
			return session, unchanged(it, stub, tools)
		}
		if !retry || session.Alive() || ctx.Err() != nil {
			return nil, err
		}
	}
}

func (c *client) options(in *exec.NativeCall) Options {
	o := c.p.Options()
	o.Env = proc.Environ(in.Env)
	o.Held = in.Held
	return o
}

// poolKey identifies a server by its filled-in description, directory and
// environment.
func poolKey(s *Server, o Options) string {
	ceilings := []*policy.Profile{} // a server with the sandbox of one caller is not for another
	for _, g := range o.Held {
		if g.Profile != nil {
			ceilings = append(ceilings, g.Profile)
		}
	}
	b, err := jsonx.Marshal([]any{s, o.Dir, o.Env, o.Project, ceilings})
	if err != nil { // all of it can be JSON
		return s.Name
	}
	return item.DigestOf(b).Hex()
}

// unchanged returns an error if the server's current description of a tool differs
// from the signed one.
// A changed definition is HASH_MISMATCH and not a question: rye mcp refresh asks. Each tool has
// the digest of the server's command or address, so a change of the server's item alone cannot
// redirect locked tools.
func unchanged(it *resolve.Item, stub *Stub, tools []Tool) error {
	i := slices.IndexFunc(tools, func(t Tool) bool {
		return t.Name == stub.Tool
	})
	if i < 0 {
		return diag.New(diag.ToolNotFound, "running %s: MCP server %s no longer offers tool %s", it.Ref, stub.Server, quoted(stub.Tool)).
			WithReason(staleReason(it)).WithDetail("server", stub.Server)
	}
	hash, err := tools[i].Hash()
	if err != nil || hash == stub.Definition {
		return err
	}
	what := "its definition"
	if parts := Differences(it, tools[i]); len(parts) > 0 {
		what = strings.Join(parts, ", ")
	}
	return diag.New(diag.HashMismatch, "running %s: MCP server %s describes the tool differently than when you signed it (%s)", it.Ref, stub.Server, what).
		WithReason(staleReason(it)).
		WithDetail("server", stub.Server).
		WithDetail("expected", stub.Definition.String()).
		WithDetail("found", hash.String()).
		WithDetail("changed", what)
}
