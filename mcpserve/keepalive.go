package mcpserve

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/every"
)

// keepAliveInterval is the time after which a comment is written to a silent
// stream. Proxies close a stream that is silent for a minute, and a closed
// stream cancels the call.
const keepAliveInterval = 15 * time.Second

// keepAlive is a response that gets a comment of server-sent events when nothing
// was written for an interval. The handler does not know of the comments, so all
// its writes are serialized here. Its header is a copy, because the handler
// changes it without a lock.
type keepAlive struct {
	w      http.ResponseWriter
	header http.Header // the handler's; copied to w when the handler begins the response

	mu      sync.Mutex
	begun   bool // the header was sent
	comment bool // it was sent by a comment
	active  bool // the handler has written since the last tick
	wrap    bool // what the handler writes is not an event and must become one
}

// newKeepAlive writes comments to w until stop is called. The caller must call
// stop before the handler returns.
func newKeepAlive(w http.ResponseWriter, interval time.Duration) (k *keepAlive, stop func()) {
	k = &keepAlive{w: w, header: w.Header().Clone()}
	end := every.Start(interval, func(time.Time) { k.tick() })
	return k, func() {
		end()
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.begun { // a cancelled call has no answer
			k.begin(http.StatusOK)
		}
	}
}

// tick writes a comment if the handler has not written since the last tick.
func (k *keepAlive) tick() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active {
		k.active = false
		return
	}
	if !k.begun {
		k.begun = true
		k.comment = true
		k.w.Header().Set("Content-Type", "text/event-stream")
		k.w.WriteHeader(http.StatusOK)
	}
	_, _ = k.w.Write([]byte(": alive\n\n"))
	k.flush()
}

// Header returns the handler's header.
func (k *keepAlive) Header() http.Header {
	return k.header
}

// WriteHeader begins the response. If a comment has begun it, the status is lost
// and what follows is written as an event.
func (k *keepAlive) WriteHeader(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin(status)
}

func (k *keepAlive) begin(status int) {
	if k.begun {
		k.wrap = k.wrap || k.comment && status != http.StatusOK
		return
	}
	k.begun = true
	maps.Copy(k.w.Header(), k.header)
	if status == http.StatusOK && k.w.Header().Get("Content-Type") == "" {
		k.w.Header().Set("Content-Type", "text/event-stream") // the protocol permits no other empty response
	}
	k.w.WriteHeader(status)
}

// Write writes the handler's bytes, as an event if a comment began the response
// of another status than 200.
func (k *keepAlive) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active = true
	if !k.begun {
		k.begin(http.StatusOK)
	}
	if !k.wrap {
		return k.w.Write(b)
	}
	_, err := k.w.Write([]byte("event: message\ndata: " + string(b) + "\n\n"))
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush sends what was written.
func (k *keepAlive) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.begun {
		k.begin(http.StatusOK)
	}
	k.flush()
}

// flush ignores errors: the handler notices a closed connection.
func (k *keepAlive) flush() {
	_ = http.NewResponseController(k.w).Flush()
}
