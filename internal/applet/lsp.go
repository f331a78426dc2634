package applet

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/suggest"
)

// lspSettings is the configuration of lsp: the servers as data.
const lspSettings = "lsp/servers"

// lspServer is one language server, as the configuration describes it.
type lspServer struct {
	id, command, install string
	args                 []string
	extensions           map[string]any // of files, to the language's id
	roots                []string       // files that mark the folder of a workspace
	options              any            // initializationOptions
	settings             map[string]any // what the server asks for as workspace/configuration
	progress             bool           // it is ready when the work that it reports has ended
}

// lspCall is what the caller asked for.
type lspCall struct {
	operation, file, symbol, query, server string
	line, column, max                      int
	declaration                            bool
	timeout, settle                        time.Duration
}

// lspResult is what a language server said, places as people count them.
type lspResult struct {
	Success     bool            `json:"success"`
	Output      string          `json:"output"`
	Operation   string          `json:"operation"`
	Server      string          `json:"server"`
	Diagnostics []lspDiagnostic `json:"diagnostics,omitempty"`
	Locations   []lspLocation   `json:"locations,omitempty"`
	Symbols     []lspSymbol     `json:"symbols,omitempty"`
	Hover       string          `json:"hover,omitempty"`
	Count       int             `json:"count"`
	Truncated   bool            `json:"truncated"`
}

// runLSP starts the language server of a file, asks it one thing and ends it.
// A server may run the build tools of the project.
func runLSP(ctx context.Context, p Params, in map[string]any) (any, error) {
	c, err := lspParams(in)
	if err != nil {
		return nil, err
	}
	conf, err := settings(p, lspSettings)
	if err != nil {
		return nil, err
	}
	servers, err := c.readServers(conf)
	if err != nil {
		return nil, err
	}
	pr, err := openProject(p)
	if err != nil {
		return nil, err
	}
	defer pr.close()
	s := &lspSession{call: c, files: &lspFiles{pr: pr, known: map[string]text{}}}
	if err := s.choose(servers); err != nil {
		return nil, err
	}
	program, err := proc.LookPath(s.server.command, p.Environ())
	if err != nil {
		return nil, s.server.missing()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return s.run(ctx, p, program)
}

func (s *lspServer) missing() error {
	e := diag.New(diag.ExecutionFailed, "starting language server %s: there is no program %q on PATH", s.id, s.command).WithDetail("server", s.id)
	if s.install != "" {
		return e.WithHint("install it: %s", s.install)
	}
	return e.WithHint("install it, or name another program in config:%s", lspSettings)
}

func lspParams(in map[string]any) (*lspCall, error) {
	a := newArgs(in, "operation", "file_path", "line", "column", "symbol", "query", "include_declaration", "max_results", "server", "timeout")
	c := &lspCall{
		operation: a.need("operation"), file: a.str("file_path", ""), symbol: a.str("symbol", ""), query: a.str("query", ""),
		server: a.str("server", ""), line: a.integer("line", 0, 1, 10_000_000), column: a.integer("column", 0, 1, 10_000_000),
		max: a.integer("max_results", 200, 1, 10_000), declaration: !a.has("include_declaration") || a.boolean("include_declaration"),
	}
	if a.has("timeout") {
		c.timeout = time.Duration(a.number("timeout", 60, 0.001, 600) * float64(time.Second))
	}
	switch c.operation {
	case "diagnostics", "symbols", "":
	case "definition", "references", "hover":
		if c.line == 0 && c.symbol == "" {
			a.bad("line", "is required for %s, or symbol", c.operation)
		}
		if c.column == 0 && c.symbol == "" && c.line > 0 {
			a.bad("column", "is required for %s, or symbol", c.operation)
		}
	default:
		a.bad("operation", "must be diagnostics, definition, references, hover or symbols, not %q", c.operation)
	}
	if c.file == "" && (c.operation != "symbols" || c.query == "" || c.server == "") {
		a.bad("file_path", "is required; only symbols with query and server works without")
	}
	return c, a.err()
}

// readServers reads the configuration, and takes the times that the caller left
// open from it.
func (c *lspCall) readServers(conf map[string]any) ([]*lspServer, error) {
	a := newArgs(conf, "servers", "timeout", "settle_ms")
	seconds := a.number("timeout", 60, 0.001, 600)
	if c.timeout == 0 {
		c.timeout = time.Duration(seconds * float64(time.Second))
	}
	c.settle = time.Duration(a.integer("settle_ms", 800, 1, 60_000)) * time.Millisecond
	var out []*lspServer
	for _, s := range a.objects("servers", "id", "command", "args", "extensions", "roots", "init_options", "settings", "install", "ready") {
		one := &lspServer{
			id: s.need("id"), command: s.need("command"), install: s.str("install", ""), args: s.strings("args"),
			extensions: s.mapping("extensions"), roots: s.strings("roots"), options: s.in["init_options"], settings: s.mapping("settings"),
		}
		switch ready := s.str("ready", ""); ready {
		case "", "progress":
			one.progress = ready == "progress"
		default:
			s.bad("ready", "must be progress, or be left out, not %q", ready)
		}
		for ext, language := range one.extensions {
			if _, ok := language.(string); !ok || !strings.HasPrefix(ext, ".") {
				s.bad("extensions", "must map extensions such as .go to ids of languages; %q does not", ext)
			}
		}
		out = append(out, one)
	}
	return out, a.configError(lspSettings)
}

// choose finds the file and the server that knows its language.
func (s *lspSession) choose(servers []*lspServer) error {
	if s.call.file != "" {
		rel, err := s.files.open(s.call.file)
		if err != nil {
			return err
		}
		s.rel = rel
	}
	var ids, exts []string
	for _, one := range servers {
		ids = append(ids, one.id)
		language, _ := one.extensions[path.Ext(s.rel)].(string)
		for ext := range one.extensions {
			exts = append(exts, ext)
		}
		if s.call.server == one.id || s.call.server == "" && language != "" && s.server == nil {
			s.server, s.language = one, language
		}
	}
	switch {
	case s.server != nil:
		s.root = s.files.workspace(s.rel, s.server.roots)
		return nil
	case s.call.server != "":
		e := diag.New(diag.ValidationFailed, "choosing a language server: there is no server %q", s.call.server).WithHint("the servers are %s", strings.Join(ids, ", "))
		if near := suggest.Nearest(s.call.server, ids); near != "" {
			e.WithHint("did you mean %q?", near)
		}
		return e
	}
	slices.Sort(exts)
	return diag.New(diag.ValidationFailed, "choosing a language server: config:%s has none for %q files", lspSettings, path.Ext(s.rel)).
		WithHint("it has servers for %s; a project adds one in .ai/config/%s.yaml", strings.Join(slices.Compact(exts), " "), lspSettings)
}

// workspace is the nearest folder above a file that holds one of the names, or
// the project.
func (f *lspFiles) workspace(rel string, names []string) string {
	for dir := path.Dir(rel); rel != ""; dir = path.Dir(dir) {
		for _, name := range names {
			if _, err := f.pr.root.Stat(path.Join(dir, name)); err == nil {
				return filepath.Join(f.pr.real, filepath.FromSlash(dir))
			}
		}
		if dir == "." {
			break
		}
	}
	return f.pr.real
}

// run starts the server, asks and ends it.
func (s *lspSession) run(ctx context.Context, p Params, program string) (any, error) {
	s.start(ctx, p, program)
	defer s.stop()
	doing := "starting"
	err := s.hello(ctx)
	var r *lspResult
	if err == nil {
		doing = "asking"
		r, err = s.ask(ctx)
	}
	if err != nil {
		return nil, s.explain(ctx, doing, err)
	}
	s.goodbye(ctx)
	r.Success, r.Operation, r.Server = true, s.call.operation, s.server.id
	return r, nil
}

// explain words why a server gave no answer: what it said last often tells.
func (s *lspSession) explain(ctx context.Context, doing string, err error) error {
	if diag.CodeOf(err) != "" {
		return err
	}
	code, why := s.reason(ctx, err)
	s.stop()
	e := diag.New(code, "%s language server %s: %s", doing, s.server.id, why).WithDetail("server", s.server.id)
	said := strings.TrimSpace(valid(string(s.result.Stderr)))
	if said != "" {
		e.WithDetail("stderr", said).WithHint("its own words: %s", clipText(lastLine(said), 200))
	}
	if code == diag.Timeout {
		e.WithHint("raise timeout (at most 600), or try again: many servers prepare a project when they first see it")
	}
	return e
}

func (s *lspSession) reason(ctx context.Context, err error) (diag.Code, string) {
	var said *jsonrpc2.Error
	switch {
	case errors.As(err, &said):
		return diag.ExecutionFailed, said.Message
	case errors.Is(ctx.Err(), context.Canceled):
		return diag.Cancelled, "cancelled"
	case ctx.Err() != nil:
		return diag.Timeout, fmt.Sprintf("no answer within %s", s.call.timeout)
	}
	if broken := s.codec.broken(); broken != nil {
		return diag.ExecutionFailed, broken.Error()
	}
	select {
	case <-s.done:
	case <-time.After(bashGrace): // its streams close a moment before it is gone
		return diag.ExecutionFailed, "it closed its stdout"
	}
	if s.fault != nil {
		return diag.ExecutionFailed, s.fault.Error()
	}
	return diag.ExecutionFailed, "it ended with " + exitText(s.result)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
