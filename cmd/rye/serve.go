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
	"time"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/policy"
)

func serveCommand() *command {
	return &command{
		name: "serve", group: "Agents",
		usage: "serve search, load, execute and sign to agents (MCP)",
		long: `Speaks the Model Context Protocol on stdin and stdout, in every revision from
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
		examples: []string{
			"rye serve",
			"rye serve --print-config claude > .mcp.json",
			"rye serve --capabilities search,load",
			"rye serve --http 7333",
			"rye serve --http 0.0.0.0:7333 --token-file ~/.config/rye/serve.token",
		},
		codes: []diag.Code{diag.ConfigError, diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.Network},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "http", Usage: "serve HTTP at `ADDR`: a port of this machine, or HOST:PORT"},
			&cli.StringSliceFlag{Name: "allow-origin", Usage: "let pages of `ORIGIN` call, such as https://ide.example (with --http)"},
			&cli.StringFlag{Name: "token-file", Usage: "demand the token in `FILE` (with --http)"},
			&cli.StringSliceFlag{Name: "capabilities", Usage: "allow `LIST`: verbs, or capabilities such as rye.execute.tool.gh.*, joined by commas"},
			&cli.StringFlag{Name: "print-config", Usage: "print the settings for `CLIENT` and serve nothing"},
		},
		run: runServe,
	}
}

func runServe(ctx context.Context, c *call) error {
	if c.isSet("http") {
		if err := checkAddress(c.str("http")); err != nil {
			return err
		}
	}
	if c.isSet("print-config") {
		return c.printClient(c.str("print-config"))
	}
	allowed, err := capabilityList(c.strs("capabilities"))
	if err != nil {
		return err
	}
	quickly(c)
	if c.isSet("http") {
		return c.serveHTTP(ctx, allowed)
	}
	for _, name := range []string{"allow-origin", "token-file"} {
		if c.isSet(name) {
			return diag.New(diag.Usage, "reading flag --%s: it belongs to --http", name)
		}
	}
	if c.Isatty != nil && c.Isatty(c.Stdin) {
		c.ui.Note("waiting for a client of the Model Context Protocol on stdin; rye serve --print-config claude shows how to connect one")
	}
	return c.server(c.verbs(allowed, "")).Stdio(ctx, c.Stdin, c.Stdout)
}

// quickly prepares the process for thousands of small calls. With a heap as
// small as ours the collector would take half of the time. A client that goes
// away must not end the process by SIGPIPE: what it has started would stay.
func quickly(c *call) {
	if c.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// grace is how long a program may take to end that was told to. A server has
// little time to leave: its client waits for it.
func (c *call) grace() time.Duration {
	if c.surface == surfaceMCP {
		return mcpserve.LeaveTime / 2
	}
	return 0
}

func (c *call) server(v mcpserve.Verbs) *mcpserve.Server {
	level := slog.LevelError + 1 // errors of the protocol are the client's to tell
	if c.ui.verbose {
		level = slog.LevelInfo
	}
	out := &visibleWriter{u: c.ui}
	return mcpserve.New(mcpserve.Params{
		Verbs: warner{v, c.ui}, Name: "rye", Title: "rye", Version: readVersion().Version,
		Logger: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), Stderr: out, Home: c.home(),
	})
}

// visibleWriter lets several goroutines tell something on stderr.
type visibleWriter struct {
	mu sync.Mutex
	u  *ui
}

// Write writes each line made visible.
func (w *visibleWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		if _, err := w.u.errOut.Write([]byte(hidden.Visible(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")) + "\n")); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (c *call) serveHTTP(ctx context.Context, allowed policy.Set) error {
	p := mcpserve.HTTPParams{}
	for _, origin := range c.strs("allow-origin") {
		o, err := webOrigin(origin)
		if err != nil {
			return err
		}
		p.Origins = append(p.Origins, o)
	}
	var err error
	if c.isSet("token-file") {
		if p.Token, err = readToken(c.path(c.str("token-file"))); err != nil {
			return err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listenAddress(c.str("http")))
	if err != nil {
		return diag.New(diag.Network, "serving on %q: %w", c.str("http"), err).WithHint("%s", listenHint(err))
	}
	defer l.Close()
	at, _ := l.Addr().(*net.TCPAddr)
	p.Beyond = at == nil || !at.IP.IsLoopback()
	return c.answer(ctx, l, p, allowed)
}

func (c *call) answer(ctx context.Context, l net.Listener, p mcpserve.HTTPParams, allowed policy.Set) error {
	if p.Beyond && p.Token != "" {
		c.ui.Warn("%s is reached from other machines and nothing is encrypted: put something in front that is", l.Addr())
	}
	if !p.Beyond && p.Token == "" {
		c.ui.Note("every user of this machine may call this server, and what they run runs as you; --token-file lets in who can read that file")
	}
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	server := c.server(c.verbs(allowed, cmp.Or(h.spaces.ProjectDir, c.dir)))
	return server.Serve(ctx, l, p, func() { c.ui.Note("serving http://%s/mcp", l.Addr()) })
}
