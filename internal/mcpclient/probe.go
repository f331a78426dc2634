package mcpclient

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// discoverMethod asks a server of the newer era what it is. Servers of the older
// one should refuse it; some say nothing at all.
const discoverMethod = "server/discover"

// probeTime is how long a server may think about it. A server that answers later
// is spoken to in the older way.
const probeTime = 5 * time.Second

// probe answers a discover request in the server's place when the server does
// not, so that the client goes on with initialize in the same process.
type probe struct {
	wait   time.Duration // zero waits for ever
	answer chan jsonrpc.Message

	mu     sync.Mutex
	id     jsonrpc.ID // of the request
	timer  *time.Timer
	gaveUp bool // the answer was given in the server's place
}

func newProbe(wait time.Duration) *probe {
	return &probe{wait: wait, answer: make(chan jsonrpc.Message, 1)}
}

// sent sees what goes to the server.
func (p *probe) sent(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok || req.Method != discoverMethod || p.wait == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil && !p.gaveUp {
		p.id, p.timer = req.ID, time.AfterFunc(p.wait, p.expire)
	}
}

func (p *probe) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer, p.gaveUp = nil, true
		p.answer <- &jsonrpc.Response{ID: p.id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer in time"}}
	}
}

// late reports whether m is the server's answer to a probe that was answered in
// its place, and stops waiting when the answer is in time.
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
