package mcpserve

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// sayAlive is how long a stream may be silent. Proxies cut one that is silent
// for a minute, and a cut stream is a cancelled call.
const sayAlive = 15 * time.Second

// steady is a stream with a comment in it whenever it has been silent for a
// while. The handler's goroutines know nothing of that, so everything they do
// with a response goes through here, its header first: they set it without a
// lock.
type steady struct {
	w      http.ResponseWriter
	header http.Header // the handler's, which becomes the response's with the first byte

	mu    sync.Mutex
	begun bool // the header is out
	ours  bool // and it was a comment that brought it out
	fresh bool // something was written since the last look
	bare  bool // what the handler writes is no event and must become one
}

// newSteady watches over a response until stop is called.
func newSteady(w http.ResponseWriter, every time.Duration) (s *steady, stop func()) {
	s = &steady{w: w, header: w.Header().Clone()}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				s.look()
			}
		}
	}()
	return s, func() {
		close(done)
		<-gone
	}
}

// look writes a comment if nothing else was written since it was last called.
func (s *steady) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		s.fresh = false
		return
	}
	if !s.begun {
		s.begun, s.ours = true, true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.WriteHeader(http.StatusOK)
	}
	_, _ = s.w.Write([]byte(": alive\n\n"))
	s.flush()
}

// Header is the handler's header.
func (s *steady) Header() http.Header { return s.header }

// WriteHeader begins the response. Where a comment has begun it, the status is
// lost, and what follows is put into an event.
func (s *steady) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

func (s *steady) begin(status int) {
	if s.begun {
		s.bare = s.bare || s.ours && status != http.StatusOK
		return
	}
	s.begun = true
	maps.Copy(s.w.Header(), s.header)
	s.w.WriteHeader(status)
}

// Write writes what the handler has to say.
func (s *steady) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh = true
	if !s.begun {
		s.begin(http.StatusOK)
	}
	if !s.bare {
		return s.w.Write(b)
	}
	if _, err := s.w.Write(append(append([]byte("event: message\ndata: "), b...), "\n\n"...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush sends what was written.
func (s *steady) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begin(http.StatusOK)
	}
	s.flush()
}

func (s *steady) flush() { _ = http.NewResponseController(s.w).Flush() } // a client that is gone is seen by the handler
