package mcpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/mcptest"
)

func detail(err error, key string) string {
	var e *diag.Error
	if !errors.As(err, &e) {
		return ""
	}
	s, _ := e.Details[key].(string)
	return s
}

// The error after a crash has the exit status and the end of stderr.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"start", "initialize"} {
		_, err := Connect(t.Context(), options(t), stdio("-crash", at, "-era", "legacy"))
		if diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), "connecting to MCP server fixture: it ended with exit status 3") {
			t.Errorf("%s: %v", at, err)
		}
		if got := detail(err, "stderr"); got != "fixture: something is broken\nfixture: giving up at "+at {
			t.Errorf("%s: stderr %q", at, got)
		}
	}
	s := open(t, stdio("-crash", "tools/call"))
	_, err := s.Call(t.Context(), "echo", map[string]any{"text": "x"})
	if !strings.Contains(err.Error(), `calling "echo" of MCP server fixture: it ended with exit status 3`) || s.Alive() {
		t.Errorf("%v, alive %v", err, s.Alive())
	}
}

// A server that ends at the first question of the newer era is asked in the older
// way.
func TestCrashAtProbe(t *testing.T) {
	t.Parallel()
	s := open(t, stdio("-crash", discoverMethod))
	if s.Protocol() != legacy {
		t.Errorf("agreed on %s", s.Protocol())
	}
}

// A server that does not answer the first request of the newer revision gets the
// older handshake: over stdio in the same process.
func TestSilentProbe(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for timeouts")
	}
	t.Parallel()
	pid := filepath.Join(t.TempDir(), "pid")
	s := stdio("-silent", discoverMethod, "-child", pid)
	s.Timeout = 6 * time.Second
	if got := open(t, s).Protocol(); got != legacy {
		t.Errorf("stdio: agreed on %s", got)
	}
	s = onWeb(t, &mcptest.Server{Silent: discoverMethod}, "/mcp")
	s.Timeout = 6 * time.Second
	if got := open(t, s).Protocol(); got != legacy {
		t.Errorf("http: agreed on %s", got)
	}
}

// Silence ends with the server's timeout, wherever it begins.
func TestSilence(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // the servers are silent at the same time
	for _, at := range []string{"initialize", "tools/list", "tools/call"} {
		for name, s := range map[string]*Server{
			"stdio": stdio("-silent", at, "-era", "legacy"),
			"http":  onWeb(t, &mcptest.Server{Silent: at, Era: "legacy"}, "/mcp"),
		} {
			s.Timeout = 600 * time.Millisecond
			o := options(t)
			all.Go(func() {
				err := use(t.Context(), o, s)
				if diag.CodeOf(err) != diag.Timeout || !strings.Contains(err.Error(), "no answer within 600ms") {
					t.Errorf("%s, silent at %s: %v", name, at, err)
				}
			})
		}
	}
	all.Wait()
}

// use does everything once and returns the first error.
func use(ctx context.Context, o Options, s *Server) error {
	session, err := Connect(ctx, o, s)
	if err != nil {
		return err
	}
	defer session.Close()
	if _, err = session.Tools(ctx); err == nil {
		_, err = session.Call(ctx, "echo", map[string]any{"text": "x"})
	}
	return err
}

func TestLoopingCursor(t *testing.T) {
	for name, s := range map[string]*Server{"stdio": stdio("-loop"), "http": onWeb(t, &mcptest.Server{Loop: true}, "/mcp")} {
		_, err := open(t, s).Tools(t.Context())
		if diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), `the list of tools does not end: page 2 leads back to "again"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a server started ends with it, though it ignores its input and SIGTERM.
func TestGroupEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for processes that ignore a signal")
	}
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("this system does not report whether a process runs")
	}
	pid := filepath.Join(t.TempDir(), "pid")
	s := open(t, stdio("-child", pid, "-stay"))
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(pid)
	if err != nil || !running(string(b)) {
		t.Fatalf("the child %s does not run: %v", b, err)
	}
	s.Close()
	for running(string(b)) { // killed already; the test's own timeout ends a wait for one that is not
		time.Sleep(10 * time.Millisecond)
	}
}

func TestWebFailures(t *testing.T) {
	s := onWeb(t, &mcptest.Server{Token: "t0ken"}, "/mcp")
	if err := use(t.Context(), options(t), s); diag.CodeOf(err) != diag.AuthFailed || !strings.Contains(err.Error(), "HTTP 401") {
		t.Errorf("without a token: %v", err)
	}
	s.Headers = map[string]string{"Authorization": "Bearer t0ken"}
	if err := use(t.Context(), options(t), s); err != nil {
		t.Errorf("with a token: %v", err)
	}
	for path, want := range map[string]string{"/nothing": "HTTP 404", "/elsewhere": "another origin, http://elsewhere.invalid"} {
		s := onWeb(t, &mcptest.Server{}, path)
		if err := use(t.Context(), options(t), s); diag.CodeOf(err) != diag.Network || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	s = &Server{Name: "gone", Transport: HTTP, URL: "http://127.0.0.1:1/mcp", Timeout: 5 * time.Second}
	if err := use(t.Context(), options(t), s); diag.CodeOf(err) != diag.Network || !strings.Contains(err.Error(), "refused") {
		t.Errorf("no server: %v", err)
	}
	o := options(t)
	o.Offline = true
	if err := use(t.Context(), o, s); diag.CodeOf(err) != diag.Network || !strings.Contains(err.Error(), "--offline") {
		t.Errorf("offline: %v", err)
	}
}

// A server that ended the session refuses a call before reading it; the call is made
// again in a new session.
func TestForgottenSession(t *testing.T) {
	s := open(t, onWeb(t, &mcptest.Server{Era: "legacy", Forget: true}, "/mcp"))
	if _, err := s.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), "echo", nil); !forgotten(err) {
		t.Errorf("%v", err)
	}
}

// Only the refusal of the call's own POST in a session means that the server did not read it: a
// stream that is resumed belongs to a call that it has read.
func TestUnreadRequest(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	w, err := newWeb(&Server{Name: "fx", URL: server.URL}, options(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, session string
		unread          bool
	}{
		{http.MethodPost, "s1", true},
		{http.MethodPost, "", false},
		{http.MethodGet, "s1", false},
	} {
		sent := &request{}
		r, err := http.NewRequestWithContext(context.WithValue(t.Context(), requestKey{}, sent), tc.method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.session != "" {
			r.Header.Set("Mcp-Session-Id", tc.session)
		}
		res, err := w.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if sent.unread.Load() != tc.unread {
			t.Errorf("%s with session %q: unread is %t", tc.method, tc.session, sent.unread.Load())
		}
	}
}
