package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/surface"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/policy"
)

// ServeOptions are the flags of rye serve.
type ServeOptions struct {
	http, tokenFile, Client string
	origins, capabilities   []string
}

func Command() *cli.Command {
	var o ServeOptions
	return &cli.Command{
		Name:  "serve",
		Group: "Agents",
		Usage: "serve search, load, execute and sign to agents (MCP)",
		Long: `Speaks the Model Context Protocol on stdin and stdout, in every revision from
2024-11-05 to 2026-07-28. An agent gets four tools; directives are prompts, and
knowledge items are resources. The configuration agent/mcp states what the agent may
do; --capabilities replaces its list for this server.

--http serves http://ADDR/mcp, and /healthz for monitoring. Every user of this
machine can connect unless --token-file requires a bearer token. An address that
other machines can reach needs a token, and a proxy that adds TLS. Web pages cannot
connect unless --allow-origin names their origin. project_path is then limited to the
folder of --project.`,
		Examples: []string{
			"rye serve",
			"rye serve --print-config claude > .mcp.json",
			"rye serve --capabilities search,load",
			"rye serve --http 7333",
			"rye serve --http 0.0.0.0:7333 --token-file ~/.config/rye/serve.token",
		},
		Codes: []diag.Code{diag.ConfigError, diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.Network},
		Flags: []cli.Flag{
			cli.String(&o.http, "http", "serve HTTP at `ADDR`: a port of this machine, or HOST:PORT"),
			cli.Strings(&o.origins, "allow-origin", "accept web pages of `ORIGIN`, such as https://ide.example"),
			cli.String(&o.tokenFile, "token-file", "require the bearer token in `FILE`"),
			cli.Lists(&o.capabilities, "capabilities", "allow `LIST`: verbs, or capabilities (rye.execute.tool.gh.*)"),
			cli.String(
				&o.Client,
				"print-config",
				"print the settings for `CLIENT` and exit: "+strings.Join(McpClients(), ", "),
			).OneOf(McpClients()...),
		},
		Needs: []cli.Need{{Flag: &o.origins, With: &o.http}, {Flag: &o.tokenFile, With: &o.http}},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runServe(ctx, c, &o)
		},
	}
}

func runServe(ctx context.Context, c *cli.Call, o *ServeOptions) error {
	if c.Given(&o.http) {
		if err := checkAddress(o.http); err != nil {
			return err
		}
	}
	if c.Given(&o.Client) {
		return printClient(c, o)
	}
	if c.Given(&o.capabilities) && len(o.capabilities) == 0 {
		return diag.New(diag.Usage, "reading flag --capabilities: the list is empty").WithReason("capabilities")
	}
	allowed, err := parseCapabilities(o.capabilities)
	if err != nil {
		return err
	}
	self.PrepareServer(c.Getenv("GOGC"))
	if c.Given(&o.http) {
		return serveHTTP(ctx, c, o, allowed)
	}
	if c.Isatty != nil && c.Isatty(c.Stdin) {
		c.UI.Note("waiting for an MCP client on stdin; rye serve --print-config claude prints the settings of a client")
	}
	return newServer(c, surface.AgentSurface(serverEnv(c), allowed, "")).Stdio(ctx, c.Stdin, c.Stdout)
}

// serverEnv returns the environment of a server. A client waits for a stopped
// server for mcpserve.LeaveTime; the programs of its calls get half of that time.
func serverEnv(c *cli.Call) *project.Env {
	e := env.Of(c)
	e.Grace = mcpserve.ShutdownTimeout / 2
	return e
}

// newServer returns an MCP server that logs to stderr.
func newServer(c *cli.Call, v mcpserve.Verbs) *mcpserve.Server {
	level := slog.LevelError + 1 // the client reports protocol errors
	if c.UI.Detailed {
		level = slog.LevelInfo
	}
	out := &env.VisibleWriter{U: c.UI}
	return mcpserve.New(mcpserve.Params{
		Verbs:   toolsWarner{v, c.UI},
		Name:    "rye",
		Title:   "rye",
		Version: c.Program.Version,
		Logger:  slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})),
		Stderr:  out,
		Home:    env.Of(c).Home(),
	})
}

func serveHTTP(ctx context.Context, c *cli.Call, o *ServeOptions, allowed policy.Set) error {
	p := mcpserve.HTTPParams{}
	for _, origin := range o.origins {
		o, err := webOrigin(origin)
		if err != nil {
			return err
		}
		p.Origins = append(p.Origins, o)
	}
	var err error
	if c.Given(&o.tokenFile) {
		if p.Token, err = readToken(c.Path(o.tokenFile)); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listenAddress(o.http))
	if err != nil {
		return diag.New(diag.Network, "serving on %q: %w", o.http, err).WithReason(listenReason(err))
	}
	defer l.Close()
	at, _ := l.Addr().(*net.TCPAddr)
	p.Remote = at == nil || !at.IP.IsLoopback()
	return serveListener(ctx, c, l, p, allowed)
}

func serveListener(
	ctx context.Context,
	c *cli.Call,
	l net.Listener,
	p mcpserve.HTTPParams,
	allowed policy.Set,
) error {
	if p.Remote && p.Token != "" {
		c.UI.Warn("other machines can reach %s, and the connection is not encrypted: put a TLS proxy in front of it", l.Addr())
	}
	if !p.Remote && p.Token == "" {
		c.UI.Note("every user of this machine can call this server and run tools with your permissions; --token-file requires a token")
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	server := newServer(c, surface.AgentSurface(serverEnv(c), allowed, cmp.Or(h.Spaces.ProjectDir, c.Base)))
	return server.Serve(ctx, l, p, func() {
		c.UI.Note("serving http://%s/mcp", l.Addr())
	})
}
