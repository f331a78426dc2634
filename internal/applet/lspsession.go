package applet

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/ryeos/rye/internal/proc"
)

// maxLSPStderr is what is kept of a server's messages to people, in bytes.
const maxLSPStderr = 64 << 10

// lspSession is one language server under way.
type lspSession struct {
	call     *lspCall
	server   *lspServer
	language string
	rel      string // the file, below the project; "" without one
	root     string // folder of the workspace, absolute
	files    *lspFiles

	conn  *jsonrpc2.Conn
	codec *lspCodec
	able  struct {
		Diagnostic any `json:"diagnosticProvider"`
	}
	cancel context.CancelFunc
	in     *io.PipeWriter // to the server
	done   chan struct{}
	result proc.Result // once done is closed
	fault  error

	mu        sync.Mutex
	published map[string]json.RawMessage // diagnostics by URI
	running   map[string]bool            // work that the server reports, by token
	news      chan struct{}              // something of these two came
}

// start runs the program in a process group of its own; it ends with stop.
func (s *lspSession) start(ctx context.Context, p Params, program string) {
	ctx, s.cancel = context.WithCancel(ctx)
	fromUs, in := io.Pipe()
	out, fromServer := io.Pipe()
	s.in, s.done, s.codec = in, make(chan struct{}), &lspCodec{}
	s.published, s.running, s.news = map[string]json.RawMessage{}, map[string]bool{}, make(chan struct{}, 1)
	go func() {
		defer close(s.done)
		s.result, s.fault = proc.Run(ctx, proc.Cmd{
			Path: program, Argv: append([]string{s.server.command}, s.server.args...), Dir: s.root, Env: p.Environ(),
			Stdin: fromUs, MaxStdout: -1, MaxStderr: maxLSPStderr, Grace: bashGrace, CancelGrace: cancelGrace,
			OnStdout: func(b []byte) { fromServer.Write(b) }, // an error means that nobody reads any more
		})
		fromUs.Close()
		fromServer.Close()
	}()
	stream := jsonrpc2.NewBufferedStream(lspPipes{out, in}, s.codec)
	s.conn = jsonrpc2.NewConn(ctx, stream, s, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
}

// lspPipes are both directions as one connection.
type lspPipes struct {
	*io.PipeReader
	in *io.PipeWriter
}

func (l lspPipes) Write(b []byte) (int, error) { return l.in.Write(b) }
func (l lspPipes) Close() error {
	l.PipeReader.Close()
	return l.in.Close()
}

// stop ends the process group, politely for a moment, and waits for it.
func (s *lspSession) stop() {
	s.conn.Close()
	t := time.AfterFunc(bashGrace, s.cancel)
	defer t.Stop()
	<-s.done
	s.cancel()
}

// hello opens the session and shows the file.
func (s *lspSession) hello(ctx context.Context) error {
	root := fileURI(s.root)
	var answer struct {
		Capabilities json.RawMessage `json:"capabilities"`
	}
	err := s.conn.Call(ctx, "initialize", map[string]any{
		"processId": os.Getpid(), "clientInfo": map[string]any{"name": "rye"}, "rootUri": root, "rootPath": s.root,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "workspace"}}, "initializationOptions": s.server.options,
		"capabilities": lspCapabilities(),
	}, &answer)
	if err != nil {
		return err
	}
	_ = json.Unmarshal(answer.Capabilities, &s.able) // a form that is not known offers nothing
	if err := s.conn.Notify(ctx, "initialized", map[string]any{}); err != nil {
		return err
	}
	if len(s.server.settings) > 0 {
		if err := s.conn.Notify(ctx, "workspace/didChangeConfiguration", map[string]any{"settings": s.server.settings}); err != nil {
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

// lspCapabilities is what is understood of the protocol.
func lspCapabilities() map[string]any {
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

// goodbye lets the server end by itself. What it says to that does not matter.
func (s *lspSession) goodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, bashGrace)
	defer cancel()
	if s.conn.Call(ctx, "shutdown", nil, nil) == nil {
		_ = s.conn.Notify(ctx, "exit", nil)
	}
}

// Handle takes what the server sends by itself. Notes are read in order; what
// wants an answer gets it beside them, so that a server that does not read
// cannot block.
func (s *lspSession) Handle(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
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
		s.published[sameURI(note.URI)] = note.Diagnostics
	case r.Method == "$/progress" && note.Value.Kind == "begin":
		s.running[string(note.Token)] = true
	case r.Method == "$/progress" && note.Value.Kind == "end":
		delete(s.running, string(note.Token))
	}
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *lspSession) reply(ctx context.Context, c *jsonrpc2.Conn, r *jsonrpc2.Request) {
	switch r.Method {
	case "workspace/configuration":
		_ = c.Reply(ctx, r.ID, s.configuration(r))
	case "workspace/workspaceFolders":
		_ = c.Reply(ctx, r.ID, []any{map[string]any{"uri": fileURI(s.root), "name": "workspace"}})
	case "workspace/applyEdit":
		_ = c.Reply(ctx, r.ID, map[string]any{"applied": false, "failureReason": "nothing is changed here"})
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create", "window/showMessageRequest",
		"workspace/diagnostic/refresh", "workspace/semanticTokens/refresh", "workspace/inlayHint/refresh", "workspace/codeLens/refresh":
		_ = c.Reply(ctx, r.ID, nil)
	default:
		_ = c.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not offered: " + r.Method})
	}
}

// configuration answers the sections that a server asks for.
func (s *lspSession) configuration(r *jsonrpc2.Request) []any {
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
		v, _ := follow(map[string]any(s.server.settings), item.Section)
		out = append(out, v)
	}
	return out
}

// quiet waits until the work that the server reports has ended and no more
// begins.
func (s *lspSession) quiet(ctx context.Context) error {
	return s.until(ctx, func() bool { return len(s.running) == 0 })
}

// until waits until ok holds and nothing new came for the time that settles it.
func (s *lspSession) until(ctx context.Context, ok func() bool) error {
	t := time.NewTimer(s.call.settle)
	defer t.Stop()
	for {
		s.mu.Lock()
		fine := ok()
		s.mu.Unlock()
		var settled <-chan time.Time
		if fine {
			t.Reset(s.call.settle)
			settled = t.C
		}
		select {
		case <-settled:
			return nil
		case <-s.news:
		case <-s.conn.DisconnectNotify():
			return jsonrpc2.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
