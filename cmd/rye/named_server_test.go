//go:build unix

package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// namedServer is a model that names each request by what its body has, answers by the name,
// and counts. It answers a repeated request as the first one, so a test of kills sees from
// the counts which requests were made again.
type namedServer struct {
	name     func(body []byte) string
	received func(name string, body []byte) // may be nil; one call at a time
	answers  map[string]*scripted.Server

	mu    sync.Mutex
	calls map[string]int
}

// newNamedServer takes one step of a scenario for each name.
func newNamedServer(t *testing.T, steps map[string]string, name func(body []byte) string) *namedServer {
	t.Helper()
	s := &namedServer{name: name, answers: map[string]*scripted.Server{}, calls: map[string]int{}}
	for step, text := range steps {
		scenario, err := scripted.Parse("scenario", []byte("dialect: openai_chat\nusage: {input: 100, output: 20}\nsteps:\n  - {repeat: true, "+text+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		s.answers[step] = &scripted.Server{Scenario: scenario}
	}
	return s
}

func (s *namedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process was killed while it asked
	}
	name := s.name(body)
	s.mu.Lock()
	s.calls[name]++
	if s.received != nil {
		s.received(name, body)
	}
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.answers[name].ServeHTTP(w, r)
}

// count returns the number of requests of each name.
func (s *namedServer) count() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}
