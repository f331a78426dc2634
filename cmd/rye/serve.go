package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/policy"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Group: "Agents",
		Usage: "serve search, load, execute and sign to agents (MCP)",
		Long: `Speaks the Model Context Protocol on stdin and stdout, in every revision from
2024-11-05 to 2026-07-28. An agent gets four tools; directives are prompts and
knowledge is resources besides. What it may do is in the configuration agent/mcp;
--capabilities narrows or widens that for this server.

--http serves programs of this machine at http://ADDR/mcp, and /healthz for those
that watch over it. Programs of its other users are served as well, unless
--token-file names a token, which clients show as a bearer token. An address that
other machines reach needs one, and something in front of it that encrypts. Web
pages may not call unless --allow-origin names their origin. project_path is then
limited to the folder of --project.

--print-config shows what to write into a client's settings: claude, codex, cursor
or vscode.`,
		Examples: []string{
			"rye serve",
			"rye serve --print-config claude > .mcp.json",
			"rye serve --capabilities search,load",
			"rye serve --http 7333",
			"rye serve --http 0.0.0.0:7333 --token-file ~/.config/rye/serve.token",
		},
		Codes: []diag.Code{diag.ConfigError, diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.Network},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "http", Usage: "serve HTTP at `ADDR`: a port of this machine, or HOST:PORT"},
			&cli.StringSliceFlag{Name: "allow-origin", Usage: "let pages of `ORIGIN` call, such as https://ide.example (with --http)"},
			&cli.StringFlag{Name: "token-file", Usage: "demand the token in `FILE` (with --http)"},
			&cli.StringSliceFlag{Name: "capabilities", Usage: "allow `LIST`: verbs, or capabilities such as rye.execute.tool.gh.*, joined by commas"},
			&cli.StringFlag{Name: "print-config", Usage: "print the settings for `CLIENT` and serve nothing"},
		},
		Run: runServe,
	}
}

func runServe(ctx context.Context, c *cli.Call) error {
	if c.IsSet("http") {
		if err := checkAddress(c.Str("http")); err != nil {
			return err
		}
	}
	if c.IsSet("print-config") {
		return printClient(c, c.Str("print-config"))
	}
	allowed, err := capabilityList(c.Strs("capabilities"))
	if err != nil {
		return err
	}
	quickly(c)
	if c.IsSet("http") {
		return serveHTTP(ctx, c, allowed)
	}
	for _, name := range []string{"allow-origin", "token-file"} {
		if c.IsSet(name) {
			return diag.New(diag.Usage, "reading flag --%s: it belongs to --http", name)
		}
	}
	if c.Isatty != nil && c.Isatty(c.Stdin) {
		c.UI.Note("waiting for a client of the Model Context Protocol on stdin; rye serve --print-config claude shows how to connect one")
	}
	return server(c, serverEnv(c).AgentSurface(allowed, "")).Stdio(ctx, c.Stdin, c.Stdout)
}

// quickly prepares the process for thousands of small calls. With a heap as
// small as ours the collector would take half of the time. A client that goes
// away must not end the process by SIGPIPE: what it has started would stay.
func quickly(c *cli.Call) {
	if c.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// serverEnv is the environment of a server: when it is told to stop, its client
// waits for it, so that the programs of its calls have half of that time.
func serverEnv(c *cli.Call) *project.Env {
	e := envOf(c)
	e.Grace = mcpserve.LeaveTime / 2
	return e
}

func server(c *cli.Call, v mcpserve.Verbs) *mcpserve.Server {
	level := slog.LevelError + 1 // errors of the protocol are the client's to tell
	if c.UI.Detailed {
		level = slog.LevelInfo
	}
	out := &visibleWriter{u: c.UI}
	return mcpserve.New(mcpserve.Params{
		Verbs: warner{v, c.UI}, Name: "rye", Title: "rye", Version: cli.ReadVersion().Version,
		Logger: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), Stderr: out, Home: envOf(c).Home(),
	})
}

// visibleWriter lets several goroutines tell something on stderr.
type visibleWriter struct {
	mu sync.Mutex
	u  *cli.UI
}

// Write writes each line made visible.
func (w *visibleWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if _, err := w.u.Stderr.Write([]byte(hidden.Visible(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")) + "\n")); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func serveHTTP(ctx context.Context, c *cli.Call, allowed policy.Set) error {
	p := mcpserve.HTTPParams{}
	for _, origin := range c.Strs("allow-origin") {
		o, err := webOrigin(origin)
		if err != nil {
			return err
		}
		p.Origins = append(p.Origins, o)
	}
	var err error
	if c.IsSet("token-file") {
		if p.Token, err = readToken(c.Path(c.Str("token-file"))); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listenAddress(c.Str("http")))
	if err != nil {
		return diag.New(diag.Network, "serving on %q: %w", c.Str("http"), err).WithHint("%s", listenHint(err))
	}
	defer l.Close()
	at, _ := l.Addr().(*net.TCPAddr)
	p.Beyond = at == nil || !at.IP.IsLoopback()
	return answer(ctx, c, l, p, allowed)
}

func answer(ctx context.Context, c *cli.Call, l net.Listener, p mcpserve.HTTPParams, allowed policy.Set) error {
	if p.Beyond && p.Token != "" {
		c.UI.Warn("%s is reached from other machines and nothing is encrypted: put something in front that is", l.Addr())
	}
	if !p.Beyond && p.Token == "" {
		c.UI.Note("every user of this machine may call this server, and what they run runs as you; --token-file lets in who can read that file")
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	server := server(c, serverEnv(c).AgentSurface(allowed, cmp.Or(h.Spaces.ProjectDir, c.Base)))
	return server.Serve(ctx, l, p, func() { c.UI.Note("serving http://%s/mcp", l.Addr()) })
}
