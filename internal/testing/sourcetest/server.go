package sourcetest

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Server serves the repositories below a directory by HTTP, as git hosts do.
type Server struct {
	T    testing.TB
	Root string
	URL  string

	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request, git http.Handler)
	seen  []Request
}

// Request is one request to a server.
type Request struct {
	Method, Path, Authorization string
}

// Serve starts a server on this machine. It stops at the end of the test.
func Serve(t testing.TB, root string) *Server {
	t.Helper()
	backend := httpBackend()
	if backend == "" {
		t.Skip("git or its http-backend is missing")
	}
	s := &Server{T: t, Root: root}
	git := &cgi.Handler{
		Path:   backend,
		Env:    Environ("GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1"),
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0),
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, git)
	}))
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// httpBackend returns the path of git's program for HTTP, "" if it is missing.
var httpBackend = sync.OnceValue(func() string {
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, missing := os.Stat(backend); err != nil || missing != nil {
		return ""
	}
	return backend
})

func (s *Server) serve(w http.ResponseWriter, r *http.Request, git http.Handler) {
	s.mu.Lock()
	s.seen = append(s.seen, Request{r.Method, r.URL.Path, r.Header.Get("Authorization")})
	fault := s.fault
	s.mu.Unlock()
	// CGI has no body of unknown length.
	if len(r.TransferEncoding) > 0 && r.TransferEncoding[0] == "chunked" {
		r.TransferEncoding = nil
		r.Header.Set("Transfer-Encoding", "")
	}
	if fault != nil {
		fault(w, r, git)
		return
	}
	git.ServeHTTP(w, r)
}

// Fault makes fn answer requests; with nil, git answers.
func (s *Server) Fault(fn func(w http.ResponseWriter, r *http.Request, git http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fn
}

// Requests returns the requests since it was last called.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.seen
	s.seen = nil
	return out
}

// Asked counts the requests for the list of refs since Requests was called.
func (s *Server) Asked() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		if strings.HasSuffix(r.Path, "/info/refs") {
			n++
		}
	}
	return n
}

// Redirect redirects every request to another address with the same path.
func Redirect(to string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(
			w,
			r,
			to+strings.TrimPrefix(r.URL.RequestURI(), "/"),
			http.StatusMovedPermanently,
		)
	}
}

// Status answers every request with a status.
func Status(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if code == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		}
		http.Error(w, fmt.Sprint(code), code)
	}
}

// Truncate ends each pack after n bytes.
func Truncate(n int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		if !strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
			git.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		git.ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		// Only answers with a pack are cut: the newer protocol lists refs here too.
		if strings.Contains(string(body), "PACK") {
			body = body[:min(len(body), strings.Index(string(body), "PACK")+n)]
		}
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		w.Write(body)
	}
}

// Replace replaces text in lists of refs.
func Replace(old, new string) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		rec := httptest.NewRecorder()
		git.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(rec.Code)
		body := rec.Body.String()
		if !strings.Contains(body, "PACK") {
			body = strings.ReplaceAll(body, old, new)
		}
		w.Write([]byte(body))
	}
}

// Hang does not answer until the client disconnects.
func Hang(reached chan<- struct{}) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		select {
		case reached <- struct{}{}:
		default:
		}
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after the body was read
		<-r.Context().Done()
	}
}
