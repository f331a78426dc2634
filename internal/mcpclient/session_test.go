package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/mcptest"
)

// stdio returns the fixture as a server with flags.
func stdio(args ...string) *Server {
	return &Server{Name: "fixture", Transport: Stdio, Command: "mcp-fixture", Args: args, Timeout: 20 * time.Second}
}

func options(t *testing.T) Options {
	return Options{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Version: "test"}
}

func onWeb(t *testing.T, s *mcptest.Server, path string) *Server {
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(srv.Close)
	kind := HTTP
	if path == "/sse" {
		kind = SSE
	}
	return &Server{Name: "fixture", Transport: kind, URL: srv.URL + path, Timeout: 20 * time.Second}
}

func open(t *testing.T, s *Server) *Session {
	t.Helper()
	session, err := Connect(t.Context(), options(t), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func text(t *testing.T, s *Session, tool string, args map[string]any) string {
	t.Helper()
	r, err := s.Call(t.Context(), tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return r.text()
}

// Every transport speaks both eras, and a remembered era needs no question.
func TestEras(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(era string) *Server{
		"stdio": func(era string) *Server { return stdio("-era", era) },
		"http":  func(era string) *Server { return onWeb(t, &mcptest.Server{Era: era}, "/mcp") },
		"sse":   func(era string) *Server { return onWeb(t, &mcptest.Server{Era: era}, "/sse") },
	} {
		for era, want := range map[string]string{"both": modern, "modern": modern, "legacy": legacy} {
			for _, known := range []string{"", want, modern, legacy} {
				t.Run(name+"/"+era+"/"+known, func(t *testing.T) {
					s := make(era)
					s.Protocol = known
					session := open(t, s)
					agreed := want
					if era == "both" && known == legacy {
						agreed = legacy
					}
					if session.Protocol() != agreed || session.Software() != "fixture 1.2.3" && agreed == legacy {
						t.Errorf("agreed on %q with %q", session.Protocol(), session.Software())
					}
					tools, err := session.Tools(t.Context())
					if err != nil || len(tools) != 9 {
						t.Fatalf("%d tools, %v", len(tools), err)
					}
					if got := text(t, session, "echo", map[string]any{"text": "a\nb <&> ü"}); got != "a\nb <&> ü" {
						t.Errorf("echo: %q", got)
					}
				})
			}
		}
	}
}

func TestCallResults(t *testing.T) {
	s := open(t, stdio())
	r, err := s.Call(t.Context(), "math.add", map[string]any{"a": 1.5, "b": int64(2)})
	if err != nil || r.IsError || r.Structured.(map[string]any)["sum"] != json.Number("3.5") {
		t.Errorf("%+v %v", r, err)
	}
	r, err = s.Call(t.Context(), "fail", nil)
	if err != nil || !r.IsError || r.Data()["error"] != "this went wrong" || r.Data()["success"] != false {
		t.Errorf("%+v %v", r, err)
	}
	r, err = s.Call(t.Context(), "image", nil)
	if err != nil || r.Content[0].(map[string]any)["data"] != "iVBORw0KGgo=" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err = s.Call(t.Context(), "nope", nil); diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), `it answers "unknown tool: nope"`) {
		t.Errorf("%v", err)
	}
}

// What a server asks of its client is refused, and the call goes on.
func TestServerRequests(t *testing.T) {
	got := text(t, open(t, stdio("-era", "legacy")), "ask", nil)
	want := "roots/list: error -32601\nsampling/createMessage: error -32601\nelicitation/create: error -32601\nping: result {}"
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// Nothing of our environment reaches a server but what it is given.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_KEY", "s3cret")
	s := stdio()
	s.Env = map[string]string{"GIVEN": "yes"}
	s.Cwd = "sub"
	o := options(t)
	if err := os.Mkdir(filepath.Join(o.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	session, err := Connect(t.Context(), o, s)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for name, want := range map[string]string{"SECRET_KEY": "unset", "HOME": "unset", "GIVEN": "yes"} {
		if got := text(t, session, "env", map[string]any{"name": name}); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := text(t, session, "cwd", nil); got != "sub" {
		t.Errorf("it works in %q", got)
	}
}

// A banner, noise between answers: skipped, in both eras.
func TestNoise(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		s := open(t, stdio("-banner", "-noise", "-era", era))
		if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 9 {
			t.Errorf("%d tools, %v", len(tools), err)
		}
		if got := text(t, s, "echo", map[string]any{"text": "x"}); got != "x" {
			t.Errorf("echo: %q", got)
		}
		if _, skipped := s.program.since(moment{}); skipped != `"Welcome to the fixture!"` {
			t.Errorf("skipped %s", skipped)
		}
	}
}

// A call may take longer than the timeout while the server reports progress.
func TestProgress(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for slow servers")
	}
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		s := stdio("-era", era)
		s.Timeout = 3 * time.Second
		session := open(t, s)
		var mu sync.Mutex
		var got []string
		r, err := session.CallWatched(t.Context(), "slow", map[string]any{"steps": 18}, func(done, total float64, message string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%v of %v: %s", done, total, message))
		})
		if err != nil || r.text() != "done" {
			t.Errorf("%s: %v", era, err)
		}
		mu.Lock()
		if len(got) == 0 || got[0] != "1 of 18: step 1" {
			t.Errorf("%s: progress %q", era, got)
		}
		mu.Unlock()
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := open(t, stdio())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := s.Call(ctx, "hang", nil); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("%v", err)
	}
	if _, err := Connect(ctx, options(t), stdio()); diag.CodeOf(err) != diag.Cancelled {
		t.Errorf("%v", err)
	}
}

// The tools are listed once, and again after the server reported a change.
func TestListChanged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tools.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"name": "a", "inputSchema": {"type": "object"}}]`)
	s := open(t, stdio("-era", "legacy", "-tools", file))
	names := func() (out []string) {
		tools, err := s.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			out = append(out, tool.Name)
		}
		return out
	}
	names()
	write(`[{"name": "b", "inputSchema": {"type": "object"}}]`)
	if got := names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("asked again without a reason: %q", got)
	}
	if got := text(t, s, "announce", nil); got != "announced" {
		t.Error(got)
	}
	for !slices.Equal(names(), []string{"b"}) { // the notification arrives after the answer
		time.Sleep(10 * time.Millisecond)
	}
}

// Concurrent callers wait for the same list.
func TestToolsTogether(t *testing.T) {
	t.Parallel()
	s := open(t, stdio())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if tools, err := s.Tools(t.Context()); err != nil || len(tools) != 9 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
		})
	}
	wg.Wait()
}

func TestMissingProgram(t *testing.T) {
	s := stdio()
	s.Command = "no-such-server"
	if err := use(t.Context(), options(t), s); diag.CodeOf(err) != diag.ExecutionFailed || !strings.Contains(err.Error(), `command not found: "no-such-server"`) {
		t.Errorf("%v", err)
	}
}

// A session ends only with Close: it serves the calls of many contexts.
func TestPool(t *testing.T) {
	p := &Pool{}
	dials := 0
	dial := func(ctx context.Context) (*Session, error) {
		dials++
		return Connect(ctx, options(t), stdio("-crash", "tools/call"))
	}
	get := func() *Session {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, err := p.Get(ctx, "k", dial)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := get()
	if get() != first || dials != 1 {
		t.Errorf("%d sessions for one server", dials)
	}
	_, _ = first.Call(t.Context(), "echo", nil)
	if second := get(); second == first || dials != 2 {
		t.Errorf("after a crash: %d sessions", dials)
	}
	p.Close()
	if _, err := p.Get(t.Context(), "k", dial); diag.CodeOf(err) != diag.Cancelled || dials != 2 {
		t.Errorf("after Close: %v", err)
	}
}
