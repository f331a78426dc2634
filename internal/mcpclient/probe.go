package mcpclient

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// discoverMethod is the first request to a server of a newer revision. Older
// servers should refuse it; some do not answer.
const discoverMethod = "server/discover"

// probeTime is the time for the answer. Afterwards the older handshake is used.
const probeTime = 5 * time.Second

// probe answers a discover request instead of the server when the server does not,
// so that the client continues with initialize in the same process.
type probe struct {
	wait   time.Duration // 0 waits without limit
	answer chan jsonrpc.Message

	mu     sync.Mutex
	id     jsonrpc.ID // of the request
	timer  *time.Timer
	gaveUp bool // the probe has answered
}

func newProbe(wait time.Duration) *probe {
	return &probe{wait: wait, answer: make(chan jsonrpc.Message, 1)}
}

// sent is called with each message to the server.
func (p *probe) sent(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok || req.Method != discoverMethod || p.wait == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil && !p.gaveUp {
		p.id = req.ID
		p.timer = time.AfterFunc(p.wait, p.expire)
	}
}

func (p *probe) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer = nil
		p.gaveUp = true
		p.answer <- &jsonrpc.Response{ID: p.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}}
	}
}

// late reports whether m is the server's answer after the probe has answered. An
// answer in time stops the timer.
func (p *probe) late(m jsonrpc.Message) bool {
	res, ok := m.(*jsonrpc.Response)
	if !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.id.IsValid() || res.ID != p.id {
		return false
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	return p.gaveUp
}
