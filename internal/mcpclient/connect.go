package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// The first revision of the protocol without a handshake, and the revision that is
// offered to older servers.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// Options are the settings for starting and reaching servers. The zero value starts
// them with an empty environment.
type Options struct {
	Version string   // of this program, sent to servers
	Dir     string   // where programs are started, absolute
	Env     []string // a program also gets the variables of its server item
	Project string   // the project's directory, "" without one
	// Consent returns an error if a program of the project itself must not be
	// started. If it is nil, none is started.
	Consent func(exec.Interpreter) error
	Offline bool              // use no network
	Web     http.RoundTripper // nil uses the network of the machine
	// Confine starts programs in their sandbox; nil starts them without one.
	Confine Confine
	Held    policy.Held // of the caller
	// Discreet leaves the text of remote servers out of errors.
	Discreet bool
}

// attempt is one way to open a session.
type attempt struct {
	version string
	probe   time.Duration // the time for the answer to the first request; 0 is the timeout of the server
}

// attempts returns the ways to open a session, in order: the revision negotiated
// before first, the others only if the server refuses it.
func attempts(s *Server) []attempt {
	ask := attempt{modern, min(probeTime, s.Timeout/2)}
	switch {
	case s.Protocol == "":
		return []attempt{ask, {legacy, 0}}
	case s.Protocol >= modern:
		return []attempt{{modern, 0}}
	}
	return []attempt{{s.Protocol, 0}, ask}
}

// Connect opens a session with a server whose variables are filled in, within the
// server's timeout. The session outlives ctx; it ends with Close.
func Connect(ctx context.Context, o Options, s *Server) (*Session, error) {
	within, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var first error
	for _, a := range attempts(s) {
		session, err := connectOnce(within, o, s, a)
		if err == nil {
			return session, nil
		}
		if diag.CodeOf(first) == "" || diag.CodeOf(first) == diag.Timeout {
			first = err
		}
		if !retryable(err) || within.Err() != nil {
			break
		}
	}
	if e := new(diag.Error); errors.As(first, &e) {
		delete(e.Details, detailAgain) // used here only
	}
	return nil, first
}

// retryable reports whether another attempt may succeed.
func retryable(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Details[detailAgain] == true
}

// detailAgain marks an error after which another revision may succeed.
const detailAgain = "other_protocol"

func connectOnce(ctx context.Context, o Options, s *Server, a attempt) (*Session, error) {
	// The session's own context ends with the session, or when it cannot be opened.
	bound, cancel := context.WithCancel(context.WithoutCancel(ctx))
	session := &Session{
		server:  s,
		cancel:  cancel,
		ended:   make(chan struct{}),
		listing: make(chan struct{}, 1),
	}
	t, err := session.transport(bound, o, a)
	if err == nil {
		err = session.begin(ctx, bound, o, t, a)
	}
	switch {
	case err == nil:
	case session.cs != nil:
		session.Close()
		return nil, err
	default:
		session.abandon()
		return nil, err
	}
	go func() {
		_ = session.cs.Wait()
		close(session.ended)
	}()
	return session, nil
}

// begin connects within the limits of ctx and the attempt. bound is the context of
// the session.
func (s *Session) begin(ctx, bound context.Context, o Options, t mcp.Transport, a attempt) error {
	stop := context.AfterFunc(ctx, s.cancel)
	late := func() bool { return false }
	if s.web != nil && a.probe > 0 { // a process answers both attempts; a remote server needs a new connection
		timer := time.AfterFunc(a.probe, s.cancel)
		late = func() bool { return !timer.Stop() }
	}
	var err error
	s.cs, err = s.client(o).Connect(
		bound,
		t,
		&mcp.ClientSessionOptions{ProtocolVersion: a.version},
	)
	if tooLate := late(); (!stop() || tooLate) && err == nil {
		err = context.Canceled // too late: bound is cancelled
	}
	return s.began(ctx, err, a)
}

// began explains why a session was not opened, and marks errors after which another
// attempt may succeed.
func (s *Session) began(ctx context.Context, err error, a attempt) error {
	if err == nil {
		return nil
	}
	e := s.explain(ctx, "connecting", err)
	var refused *jsonrpc.Error
	died := s.program != nil && s.program.failed()
	unanswered := s.web != nil && a.probe > 0 && ctx.Err() == nil
	d := new(diag.Error)
	if errors.As(e, &d) && (died || unanswered || errors.As(err, &refused)) {
		return d.WithDetail(detailAgain, true)
	}
	return e
}

// transport starts the program of the server, or prepares requests to its address.
func (s *Session) transport(ctx context.Context, o Options, a attempt) (mcp.Transport, error) {
	if s.server.Transport != Stdio {
		if o.Offline {
			return nil, diag.New(diag.Network, "connecting to MCP server %s: it is reached by the network, and --offline is set", s.server.Name)
		}
		var err error
		if s.web, err = newWeb(s.server, o); err != nil {
			return nil, err
		}
		return s.web.transport(s.server), nil
	}
	c, err := o.command(s.server)
	if err != nil {
		return nil, err
	}
	s.program = startProgram(
		ctx,
		c,
		newProbe(a.probe),
		func(c *proc.Cmd) (*exec.Sandbox, func(*proc.Result) error, error) {
			return o.confined(ctx, s.server, c)
		},
	)
	return s.program, nil
}

// command returns the program of a server. A program of the project needs consent.
func (o Options) command(s *Server) (proc.Cmd, error) {
	c := proc.Cmd{Argv: append([]string{s.Command}, s.Args...), Dir: o.Dir, Env: proc.Merge(o.Env, proc.Environ(s.Env))}
	if s.Cwd != "" {
		c.Dir = s.Cwd
		if !filepath.IsAbs(c.Dir) {
			c.Dir = filepath.Join(o.Dir, filepath.FromSlash(s.Cwd))
		}
	}
	path, err := proc.LookPath(s.Command, c.Env)
	if err != nil {
		return c, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	c.Path = path
	return c, o.consent(s, path)
}

func (o Options) consent(s *Server, path string) error {
	if !exec.Local(path, o.Project) {
		return nil
	}
	in := exec.Interpreter{
		Owner:   s.Ref().String(),
		Path:    path,
		Local:   true,
		Project: o.Project,
	}
	var err error
	if in.Digest, err = exec.DigestProgram(path); err != nil {
		return diag.New(diag.FileSystemError, "reading program %s: %w", path, err)
	}
	if o.Consent == nil {
		return diag.New(diag.ConsentRequired, "running %s: a program of the project needs consent", path)
	}
	return o.Consent(in)
}

// client returns a client without capabilities.
func (s *Session) client(o Options) *mcp.Client {
	version := o.Version
	if version == "" {
		version = "0"
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "rye", Version: version}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},

		ProgressNotificationHandler: s.progress,
	})
	c.AddReceivingMiddleware(s.receiving)
	return c
}

// receiving refuses requests of servers: rye only calls tools.
func (s *Session) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "roots/list", "sampling/createMessage", "elicitation/create":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "rye does not answer " + method}
		case "notifications/tools/list_changed":
			s.forget()
		}
		return next(ctx, method, req)
	}
}
