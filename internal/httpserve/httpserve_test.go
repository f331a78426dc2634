package httpserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func limits() Limits {
	return Limits{
		Header: time.Second,
		Idle:   time.Second,
		Bytes:  8 << 10,
		Close:  100 * time.Millisecond,
	}
}

// TestGuard sends what foreign pages make browsers send.
func TestGuard(t *testing.T) {
	h := Guard{Addr: "127.0.0.1:7340", Public: "https://rye.acme.io"}.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "secret")
	}))
	for _, c := range []struct {
		method, host, origin, site string
		want                       int
	}{
		{"GET", "127.0.0.1:7340", "", "", 200},
		{"GET", "localhost:7340", "", "none", 200},
		{"POST", "localhost:7340", "http://localhost:7340", "same-origin", 200},
		{"POST", "LOCALHOST:7340", "http://localhost:7340", "same-origin", 200},
		{"POST", "rye.acme.io", "https://rye.acme.io", "same-origin", 200},
		{"POST", "127.0.0.1:7340", "", "", 200}, // a program
		{"GET", "evil.example:7340", "", "", 421},
		{"GET", "127.0.0.1:7341", "", "", 421},
		{"GET", "127.0.0.1", "", "", 421},
		{"GET", "", "", "", 421},
		{"GET", "127.0.0.1.evil.example:7340", "", "", 421},
		{"POST", "127.0.0.1:7340", "https://evil.example", "cross-site", 403},
		{"GET", "127.0.0.1:7340", "https://evil.example", "", 403},
		{"GET", "127.0.0.1:7340", "null", "", 403},
		{"POST", "127.0.0.1:7340", "http://127.0.0.1:9999", "same-site", 403}, // another server of this machine
		{"POST", "127.0.0.1:7340", "https://127.0.0.1:7340", "", 403},
		{"POST", "127.0.0.1:7340", "", "cross-site", 403},
		{"POST", "127.0.0.1:7340", "", "same-site", 403},
	} {
		r := httptest.NewRequest(c.method, "http://x/", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || w.Code != 200 && strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
	two := httptest.NewRequest("GET", "http://localhost:7340/", nil)
	two.Header["Origin"] = []string{"http://localhost:7340", "https://evil.example"}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, two)
	if w.Code != 403 {
		t.Errorf("two origins: %d", w.Code)
	}
}

// TestBodies sends bodies that are too long or make no progress.
func TestBodies(t *testing.T) {
	got := make(chan error, 1)
	h := Bounded(10, 50*time.Millisecond, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		got <- err
	}))
	s := httptest.NewServer(Named(Secure("default-src 'none'", h)))
	defer s.Close()
	res, err := http.Post(s.URL, "text/plain", strings.NewReader("short"))
	if err != nil || <-got != nil || res.Header.Get(RequestID) == "" || res.Header.Get("Content-Security-Policy") != "default-src 'none'" {
		t.Fatal(err, res.Header)
	}
	if _, err := http.Post(s.URL, "text/plain", strings.NewReader("a longer body")); err != nil {
		t.Fatal(err)
	}
	var large *http.MaxBytesError
	if err := <-got; !errors.As(err, &large) {
		t.Error("a long body:", err)
	}
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab"); err != nil {
		t.Fatal(err)
	}
	var slow net.Error
	if err := <-got; !errors.As(err, &slow) || !slow.Timeout() {
		t.Error("a body without progress:", err)
	}
}

// TestUnix listens on a socket, again after a server was killed, and not if one answers.
func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(t.Context(), Address{Unix: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), Address{Unix: path}); diag.CodeOf(err) != diag.Conflict {
		t.Error("a second server:", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = l.Close()
	if l, err = Listen(t.Context(), Address{Unix: path}); err != nil {
		t.Fatal("after a server was killed:", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, http.NotFoundHandler(), limits()) }()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	res, err := client.Get("http://rye/")
	if err != nil || res.StatusCode != 404 {
		t.Fatal(res, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLoopback names addresses of this machine.
func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "127.0.0.1": false} {
		if IsLoopback(addr) != want {
			t.Error(addr)
		}
	}
}

// TestRestOfABody: the rest of a body that is too large is never read as the next request of the
// connection.
func TestRestOfABody(t *testing.T) {
	t.Parallel()
	read := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	bounded := Bounded(1<<10, time.Minute, read)
	// The servers wrap the writer, so that the reader of the body cannot reach the connection.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bounded.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	}))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const size = 1 << 20
	inner := "GET /inner HTTP/1.1\r\nHost: x\r\n\r\n"
	go func() {
		_, _ = fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
		for range size / len(inner) {
			if _, err := io.WriteString(c, inner); err != nil {
				return
			}
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answers, _ := io.ReadAll(c)
	if n := bytes.Count(answers, []byte("HTTP/1.1 ")); n != 1 || !bytes.Contains(answers, []byte("Connection: close")) {
		t.Errorf("%d answers to one request:\n%.600s", n, answers)
	}
}
