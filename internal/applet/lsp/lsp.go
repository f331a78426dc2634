// Package lsp has the applet lsp: it starts the language server of a file, asks
// one question and ends it. Which servers exist is configuration.
//
// It keeps no server running between calls and changes no files. A server may run
// code of the project, so it starts only if the user consented to it.
package lsp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/proc"
)

// settingsID is the configuration that lists the servers.
const settingsID = "lsp/servers"

// Applets returns the applets by name.
func Applets() map[string]wire.Func {
	return map[string]wire.Func{"lsp": runLSP}
}

// server is one language server of the configuration.
type server struct {
	id         string
	command    string
	install    string // how a person installs it
	args       []string
	extensions map[string]any // file extension to language id
	roots      []string       // files that mark the directory of a workspace
	options    any            // initializationOptions
	settings   map[string]any // the answers to workspace/configuration
	companion  companion
	progress   bool // ready when the work that it reports has ended
}

// companion is a file that belongs to a server's program: it is installed in the
// same node_modules directory, and a file of the project must not replace it.
type companion struct {
	file   string // below node_modules
	option string // path in initializationOptions that names the file
}

// call is the decoded parameters.
type call struct {
	operation   string
	file        string
	symbol      string
	query       string
	server      string
	line        int // from 1; 0 is unset
	column      int // from 1; 0 is unset
	maxResults  int
	declaration bool
	timeout     time.Duration
	settle      time.Duration
}

// result is the answer of a language server. Lines and columns count from 1.
type result struct {
	Success     bool         `json:"success"`
	Output      string       `json:"output"`
	Operation   string       `json:"operation"`
	Server      string       `json:"server"`
	Diagnostics []diagnostic `json:"diagnostics,omitempty"`
	Locations   []location   `json:"locations,omitempty"`
	Symbols     []symbol     `json:"symbols,omitempty"`
	Hover       string       `json:"hover,omitempty"`
	Count       int          `json:"count"`
	Truncated   bool         `json:"truncated"`
}

// runLSP starts the language server of a file, asks one question and ends it.
func runLSP(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	c, err := decodeCall(in)
	if err != nil {
		return nil, err
	}
	conf, err := wire.Settings(p, settingsID)
	if err != nil {
		return nil, err
	}
	servers, err := c.decodeServers(conf)
	if err != nil {
		return nil, err
	}
	project, err := files.Open(p)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	s := &session{call: c, files: &positions{project: project, known: map[string]files.Text{}}}
	if err := s.choose(servers); err != nil {
		return nil, err
	}
	ok, err := wire.Consented(p, settingsID, s.server.id)
	if err != nil || !ok {
		return nil, cmp.Or(err, s.server.unconfirmed())
	}
	program, err := proc.LookPath(s.server.command, p.Environ())
	if err != nil {
		return nil, s.server.missing()
	}
	if err := s.server.useCompanion(program); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return s.run(ctx, p, program)
}

// unconfirmed returns the error for a server that the user did not consent to.
func (s *server) unconfirmed() error {
	return diag.New(diag.ConsentRequired,
		"starting language server %s: it runs code of the project that no signature covers, and you did not consent to it for this project", s.id).
		WithReason("language_server").WithDetail("server", s.id)
}

// missing returns the error for a server whose program is not installed.
func (s *server) missing() error {
	message := fmt.Sprintf("no program %q in PATH", s.command)
	if s.install != "" {
		message += " (install: " + s.install + ")"
	}
	return diag.New(diag.ExecutionFailed, "starting language server %s: %s", s.id, message).WithDetail("server", s.id)
}

func decodeCall(in map[string]any) (*call, error) {
	a := wire.NewArgs(in, "operation", "file_path", "line", "column", "symbol", "query", "include_declaration", "max_results", "server", "timeout")
	c := &call{
		operation:   a.Required("operation"),
		file:        a.String("file_path", ""),
		symbol:      a.String("symbol", ""),
		query:       a.String("query", ""),
		server:      a.String("server", ""),
		line:        a.Int("line", 0, 1, 10_000_000),
		column:      a.Int("column", 0, 1, 10_000_000),
		maxResults:  a.Int("max_results", 200, 1, 10_000),
		declaration: !a.Has("include_declaration") || a.Bool("include_declaration"),
	}
	if a.Has("timeout") {
		c.timeout = time.Duration(
			a.Number("timeout", 60, 0.001, 600) * float64(time.Second),
		)
	}
	switch c.operation {
	case "diagnostics", "symbols", "":
	case "definition", "references", "hover":
		if c.line == 0 && c.symbol == "" {
			a.Reject("line", "is required for %s, or symbol", c.operation)
		}
		if c.column == 0 && c.symbol == "" && c.line > 0 {
			a.Reject("column", "is required for %s, or symbol", c.operation)
		}
	default:
		a.Reject("operation", "must be diagnostics, definition, references, hover or symbols, not %q", c.operation)
	}
	if c.file == "" && (c.operation != "symbols" || c.query == "" || c.server == "") {
		a.Reject("file_path", "is required, except for symbols with query and server")
	}
	return c, a.Err()
}

// decodeServers decodes the configuration. It also sets the times that the
// caller did not set.
func (c *call) decodeServers(conf map[string]any) ([]*server, error) {
	a := wire.NewArgs(conf, "servers", "timeout", "settle_ms")
	seconds := a.Number("timeout", 60, 0.001, 600)
	if c.timeout == 0 {
		c.timeout = time.Duration(seconds * float64(time.Second))
	}
	c.settle = time.Duration(a.Int("settle_ms", 800, 1, 60_000)) * time.Millisecond
	var out []*server
	for _, s := range a.Objects("servers", "id", "command", "args", "extensions", "roots", "init_options", "settings", "install", "ready", "companion", "read") {
		one := &server{
			id:         s.Required("id"),
			command:    s.Required("command"),
			install:    s.String("install", ""),
			args:       s.Strings("args"),
			extensions: s.Map("extensions"),
			roots:      s.Strings("roots"),
			options:    s.Value("init_options"),
			settings:   s.Map("settings"),
		}
		if s.Has("companion") {
			o := s.Object("companion", "file", "option")
			one.companion = companion{o.Required("file"), o.Required("option")}
		}
		switch ready := s.String("ready", ""); ready {
		case "", "progress":
			one.progress = ready == "progress"
		default:
			s.Reject("ready", "must be progress or unset, not %q", ready)
		}
		for ext, language := range one.extensions {
			_, ok := language.(string)
			if !ok || !strings.HasPrefix(ext, ".") {
				s.Reject("extensions", "must map extensions such as .go to language ids; %q does not", ext)
			}
		}
		out = append(out, one)
	}
	return out, a.ConfigError(settingsID)
}

// choose opens the file and selects the server: the one that the caller named,
// else the first that has the file's extension.
func (s *session) choose(servers []*server) error {
	if s.call.file != "" {
		rel, err := s.files.open(s.call.file)
		if err != nil {
			return err
		}
		s.rel = rel
	}
	var ids, extensions []string
	for _, one := range servers {
		ids = append(ids, one.id)
		extensions = slices.AppendSeq(extensions, maps.Keys(one.extensions))
		language, _ := one.extensions[path.Ext(s.rel)].(string)
		if s.call.server == one.id ||
			s.call.server == "" && language != "" && s.server == nil {
			s.server = one
			s.language = language
		}
	}
	switch {
	case s.server != nil:
		s.root = s.files.workspace(s.rel, s.server.roots)
		return nil
	case s.call.server != "":
		return diag.New(diag.ValidationFailed, "choosing a language server: unknown server %q; config:%s has %s",
			s.call.server, settingsID, strings.Join(ids, ", "))
	}
	slices.Sort(extensions)
	return diag.New(diag.ValidationFailed, "choosing a language server: config:%s has no server for %q files, only for %s",
		settingsID, path.Ext(s.rel), strings.Join(slices.Compact(extensions), " "))
}

// run starts the server, asks and ends it.
func (s *session) run(ctx context.Context, p wire.Params, program string) (any, error) {
	s.start(ctx, p, program)
	defer s.stop()
	if err := s.open(ctx); err != nil {
		return nil, s.explain(ctx, "starting", err)
	}
	r, err := s.ask(ctx)
	if err != nil {
		return nil, s.explain(ctx, "asking", err)
	}
	s.shutdown(ctx)
	r.Success = true
	r.Operation = s.call.operation
	r.Server = s.server.id
	return r, nil
}

// explain returns the error of a server that did not answer, with the last line
// of its stderr.
func (s *session) explain(ctx context.Context, doing string, err error) error {
	if diag.CodeOf(err) != "" {
		return err
	}
	code, reason := s.reason(ctx, err)
	s.stop() // before stderr is read: the process may still write
	message := reason
	stderr := strings.TrimSpace(wire.Valid(string(s.result.Stderr)))
	if stderr != "" && code != diag.Timeout {
		lines := strings.Split(stderr, "\n")
		message += "; stderr ends with: " + wire.Clip(lines[len(lines)-1], 200)
	}
	e := diag.New(code, "%s language server %s: %s", doing, s.server.id, message).
		WithDetail("server", s.server.id)
	if stderr != "" {
		e.WithDetail("stderr", stderr)
	}
	return e
}

func (s *session) reason(ctx context.Context, err error) (diag.Code, string) {
	var answer *jsonrpc2.Error
	switch {
	case errors.As(err, &answer):
		return diag.ExecutionFailed, answer.Message
	case errors.Is(ctx.Err(), context.Canceled):
		return diag.Cancelled, "cancelled"
	case ctx.Err() != nil:
		return diag.Timeout, fmt.Sprintf("no answer within the timeout of %s; the maximum is 600 s", s.call.timeout)
	}
	if broken := s.codec.broken(); broken != nil {
		return diag.ExecutionFailed, broken.Error()
	}
	select {
	case <-s.done:
	case <-time.After(wire.Grace): // the streams close a moment before the process ends
		return diag.ExecutionFailed, "it closed its stdout"
	}
	if s.fault != nil {
		return diag.ExecutionFailed, s.fault.Error()
	}
	return diag.ExecutionFailed, "it ended with " + wire.Ending(s.result)
}
