package lsp

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/proc"
)

// maxStderr is the number of bytes of a server's stderr that are kept.
const maxStderr = 64 << 10

// session is one running language server.
type session struct {
	call     *call
	server   *server
	language string
	rel      string // the file, below the project; "" without one
	root     string // directory of the workspace, absolute
	files    *positions

	conn   *jsonrpc2.Conn
	codec  *codec
	offers struct {
		Diagnostic any `json:"diagnosticProvider"`
	}
	cancel context.CancelFunc
	in     *io.PipeWriter // to the server
	done   chan struct{}
	result proc.Result // set when done is closed
	fault  error

	mu        sync.Mutex
	published map[string]json.RawMessage // diagnostics by URI
	running   map[string]bool            // work that the server reports, by token
	changed   chan struct{}              // signals a change of published or running
}

// start runs the program in a process group of its own; it ends with stop.
func (s *session) start(ctx context.Context, p wire.Params, program string) {
	ctx, s.cancel = context.WithCancel(ctx)
	fromUs, in := io.Pipe()
	out, fromServer := io.Pipe()
	s.in = in
	s.done = make(chan struct{})
	s.codec = &codec{}
	s.published = map[string]json.RawMessage{}
	s.running = map[string]bool{}
	s.changed = make(chan struct{}, 1)
	go func() {
		defer close(s.done)
		s.result, s.fault = proc.Run(ctx, proc.Cmd{
			Path:        program,
			Argv:        append([]string{s.server.command}, s.server.args...),
			Dir:         s.root,
			Env:         p.Environ(),
			Stdin:       fromUs,
			MaxStdout:   -1,
			MaxStderr:   maxStderr,
			Grace:       wire.Grace,
			CancelGrace: wire.CancelGrace,
			OnStdout:    func(b []byte) { fromServer.Write(b) }, // fails after stop, when nothing reads any more
		})
		fromUs.Close()
		fromServer.Close()
	}()
	stream := jsonrpc2.NewBufferedStream(pipes{out, in}, s.codec)
	s.conn = jsonrpc2.NewConn(ctx, stream, s, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
}

// pipes joins both directions to one connection.
type pipes struct {
	*io.PipeReader
	in *io.PipeWriter
}

func (l pipes) Write(b []byte) (int, error) {
	return l.in.Write(b)
}
func (l pipes) Close() error {
	l.PipeReader.Close()
	return l.in.Close()
}

// stop closes the connection and waits for the process group to end. After
// wire.Grace it kills the group.
func (s *session) stop() {
	s.conn.Close()
	t := time.AfterFunc(wire.Grace, s.cancel)
	defer t.Stop()
	<-s.done
	s.cancel()
}

// open initializes the session and opens the file in it.
func (s *session) open(ctx context.Context) error {
	root := fileURI(s.root)
	var answer struct {
		Capabilities json.RawMessage `json:"capabilities"`
	}
	err := s.conn.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]any{"name": "rye"}, "rootUri": root, "rootPath": s.root,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "workspace"}}, "initializationOptions": s.server.options,
		"capabilities": capabilities(),
	}, &answer)
	if err != nil {
		return err
	}
	_ = json.Unmarshal(answer.Capabilities, &s.offers) // an unknown form offers nothing
	if err := s.conn.Notify(ctx, "initialized", map[string]any{}); err != nil {
		return err
	}
	if len(s.server.settings) > 0 {
		err := s.conn.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": s.server.settings})
		if err != nil {
			return err
		}
	}
	if s.rel == "" {
		return nil
	}
	err = s.conn.Notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": s.uri(), "languageId": s.language, "version": 1, "text": s.files.text(s.rel),
	}})
	if err == nil && s.server.progress {
		err = s.quiet(ctx)
	}
	return err
}

// capabilities returns the parts of the protocol that this client supports.
func capabilities() map[string]any {
	markup := []string{"markdown", "plaintext"}
	return map[string]any{
		"general":   map[string]any{"positionEncodings": []string{"utf-16"}},
		"window":    map[string]any{"workDoneProgress": true},
		"workspace": map[string]any{"configuration": true, "workspaceFolders": true, "symbol": map[string]any{}},
		"textDocument": map[string]any{
			"synchronization":    map[string]any{},
			"publishDiagnostics": map[string]any{},
			"diagnostic":         map[string]any{},
			"definition":         map[string]any{"linkSupport": true},
			"references":         map[string]any{},
			"hover":              map[string]any{"contentFormat": markup},
			"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
		},
	}
}

// shutdown asks the server to end by itself. The process is stopped in any case,
// so its answer is ignored.
func (s *session) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wire.Grace)
	defer cancel()
	if s.conn.Call(ctx, "shutdown", nil, nil) == nil {
		_ = s.conn.Notify(ctx, "exit", nil)
	}
}

// Handle takes the messages that the server sends on its own. Notifications are
// handled in order. Requests are answered concurrently, so that a server that
// does not read cannot block them.
func (s *session) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if !r.Notif {
		go s.reply(ctx, c, r)
		return
	}
	var note struct {
		URI         string          `json:"uri"`
		Diagnostics json.RawMessage `json:"diagnostics"`
		Token       json.RawMessage `json:"token"`
		Value       struct {
			Kind string `json:"kind"`
		} `json:"value"`
	}
	if r.Params == nil || json.Unmarshal(*r.Params, &note) != nil {
		return
	}
	s.mu.Lock()
	switch {
	case r.Method == "textDocument/publishDiagnostics":
		s.published[normalURI(note.URI)] = note.Diagnostics
	case r.Method == "$/progress" && note.Value.Kind == "begin":
		s.running[string(note.Token)] = true
	case r.Method == "$/progress" && note.Value.Kind == "end":
		delete(s.running, string(note.Token))
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *session) reply(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	switch r.Method {
	case "workspace/configuration":
		_ = c.Reply(ctx, r.ID, s.configuration(r))
	case "workspace/workspaceFolders":
		_ = c.Reply(ctx, r.ID, []any{map[string]any{"uri": fileURI(s.root), "name": "workspace"}})
	case "workspace/applyEdit":
		_ = c.Reply(ctx, r.ID, map[string]any{"applied": false, "failureReason": "this client changes no files"})
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
		_ = c.Reply(ctx, r.ID, nil)
	default:
		_ = c.ReplyWithError(
			ctx,
			r.ID,
			&jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not supported: " + r.Method},
		)
	}
}

// configuration returns the sections that a server asks for.
func (s *session) configuration(r *jsonrpc2.Request) []any {
	var asked struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if r.Params != nil {
		_ = json.Unmarshal(*r.Params, &asked)
	}
	out := []any{}
	for _, item := range asked.Items {
		v, _ := wire.Lookup(s.server.settings, item.Section)
		out = append(out, v)
	}
	return out
}

// quiet waits until all work that the server reports has ended.
func (s *session) quiet(ctx context.Context) error {
	return s.until(ctx, func() bool {
		return len(s.running) == 0
	})
}

// until waits until ok returns true and nothing changed for the settling time.
func (s *session) until(ctx context.Context, ok func() bool) error {
	t := time.NewTimer(s.call.settle)
	defer t.Stop()
	for {
		s.mu.Lock()
		settling := ok()
		s.mu.Unlock()
		var settled <-chan time.Time
		if settling {
			t.Reset(s.call.settle)
			settled = t.C
		}
		select {
		case <-settled:
			return nil
		case <-s.changed:
		case <-s.conn.DisconnectNotify():
			return jsonrpc2.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
