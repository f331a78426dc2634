package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHTTPServe serves the answers of a file until the script ends, and sets a
// variable to the server's address, the variable with _HOST behind its name to
// host and port, and that with _PORT to the port. Every request is written to FILE.log.
//
// Answers are parted by lines of "----": "METHOD /path" (or "ANY /path"), then a
// status, then headers, an empty line and the body. Of several answers for one
// request each is given once, and the last one again and again. In place of a
// status stand: echo (what was asked, as JSON), drop (the connection breaks),
// hang (nothing comes), stream (200, line by line).
func cmdHTTPServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "httpserve FILE VARIABLE")
	s := &scriptServer{log: ts.MkAbs(args[0]) + ".log", done: make(chan struct{})}
	for part := range strings.SplitSeq(ts.ReadFile(args[0]), "----\n") {
		a, err := readAnswer(part)
		ts.Check(err)
		s.answers = append(s.answers, a)
	}
	ts.Check(os.WriteFile(s.log, nil, 0o644))
	srv := httptest.NewServer(s)
	ts.Defer(func() { close(s.done); srv.CloseClientConnections(); srv.Close() })
	ts.Setenv(args[1], srv.URL)
	ts.Setenv(args[1]+"_HOST", strings.TrimPrefix(srv.URL, "http://"))
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	ts.Setenv(args[1]+"_PORT", port)
}

type scriptAnswer struct {
	method, path, status string
	header               http.Header
	body                 string
	used                 bool
}

func readAnswer(text string) (*scriptAnswer, error) {
	a := &scriptAnswer{header: http.Header{}}
	r := bufio.NewReader(strings.NewReader(text))
	for n := 0; ; n++ {
		line, err := r.ReadString('\n')
		line = strings.TrimSpace(line)
		name, value, isHeader := strings.Cut(line, ": ")
		switch {
		case n == 0:
			a.method, a.path, _ = strings.Cut(line, " ")
		case n == 1:
			a.status = line
		case line == "":
			rest, _ := io.ReadAll(r)
			if a.body = string(rest); a.status != "stream" {
				a.body = strings.TrimSuffix(a.body, "\n") // the file's, not the answer's
			}
			return a, nil
		case isHeader:
			a.header.Add(name, value)
		default:
			return nil, fmt.Errorf("answer %s: %q is no header", a.path, line)
		}
		if err != nil {
			return a, nil
		}
	}
}

// scriptServer answers as a file tells.
type scriptServer struct {
	mu      sync.Mutex
	answers []*scriptAnswer
	log     string
	done    chan struct{}
}

func (s *scriptServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.note(r, body)
	a := s.pick(r)
	if a == nil {
		http.NotFound(w, r)
		return
	}
	for name, values := range a.header {
		for _, v := range values {
			w.Header().Add(name, strings.ReplaceAll(v, "HOST", r.Host))
		}
	}
	switch a.status {
	case "echo":
		echoRequest(w, r, body)
	case "drop":
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
	case "hang":
		select {
		case <-s.done:
		case <-r.Context().Done():
		}
	case "stream":
		for line := range strings.Lines(a.body) {
			io.WriteString(w, line)
			w.(http.Flusher).Flush()
		}
	default:
		status := 0
		fmt.Sscanf(a.status, "%d", &status)
		w.WriteHeader(status)
		io.WriteString(w, a.body)
	}
}

// pick returns the next answer for a request.
func (s *scriptServer) pick(r *http.Request) *scriptAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last *scriptAnswer
	for _, a := range s.answers {
		if a.path != r.URL.Path || a.method != r.Method && a.method != "ANY" {
			continue
		}
		if last = a; !a.used {
			a.used = true
			return a
		}
	}
	return last
}

func (s *scriptServer) note(r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", r.Method, r.URL.RequestURI())
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(f, "  %s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	fmt.Fprintf(f, "  %s\n", body)
}

func echoRequest(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	headers := map[string]string{}
	for name, values := range r.Header {
		headers[name] = strings.Join(values, ", ")
	}
	json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "path": r.URL.EscapedPath(), "query": r.URL.RawQuery, "headers": headers, "body": string(body),
	})
}
