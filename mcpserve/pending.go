package mcpserve

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// pending are the requests of one connection that have no response yet. A
// request that its client has cancelled must not get one.
type pending struct {
	mu       sync.Mutex
	requests map[jsonrpc.ID]bool // true: cancelled
	writing  int                 // responses being written
	idle     chan struct{}       // set by drain; closed when nothing is pending
}

func newPending() *pending {
	return &pending{requests: map[jsonrpc.ID]bool{}}
}

// add records a request or a cancellation. It returns false for a request whose
// id is pending: a client could not match two responses to one id.
func (p *pending) add(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if req.IsCall() {
		if _, exists := p.requests[req.ID]; exists {
			return false
		}
		p.requests[req.ID] = false
		return true
	}
	if id, ok := cancelledID(req); ok {
		if _, exists := p.requests[id]; exists {
			p.requests[id] = true
		}
	}
	return true
}

// count returns the number of requests whose response the client has not read.
func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests) + p.writing
}

// idInUse is the error for a request whose id is pending. It is sent without the
// id, which belongs to the response to the earlier request.
// The refusal has no id: a client would take it as the response to the first request.
func idInUse(id jsonrpc.ID) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("a request with the id %#v has no answer yet: give each its own id", id.Raw())}
}

func cancelledID(req *jsonrpc.Request) (id jsonrpc.ID, ok bool) {
	if req.Method != "notifications/cancelled" {
		return id, false
	}
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return id, false
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	return id, err == nil
}

// beginResponse frees an id and reports whether its request was cancelled. The
// id must be free before the response is written: the client may reuse it at
// once.
func (p *pending) beginResponse(id jsonrpc.ID) (cancelled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cancelled = p.requests[id]
	delete(p.requests, id)
	p.writing++
	return cancelled
}

// endResponse follows each beginResponse.
func (p *pending) endResponse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing--
	if p.idle != nil && p.isIdle() {
		close(p.idle)
		p.idle = nil
	}
}

func (p *pending) isIdle() bool {
	return len(p.requests) == 0 && p.writing == 0
}

// drain waits until every request has its response, at most d, or until stop is
// closed.
func (p *pending) drain(d time.Duration, stop <-chan struct{}) {
	p.mu.Lock()
	idle := make(chan struct{})
	if p.isIdle() {
		close(idle)
	} else {
		p.idle = idle
	}
	p.mu.Unlock()
	select {
	case <-idle:
	case <-stop:
	case <-time.After(d):
	}
}
