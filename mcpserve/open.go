package mcpserve

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// open are the requests of one connection that have no answer yet, and whether
// their client has cancelled them: then they must not get one.
type open struct {
	mu       sync.Mutex
	requests map[jsonrpc.ID]bool
	none     chan struct{} // of drain: closed when nothing is open
}

func newOpen() *open {
	return &open{requests: map[jsonrpc.ID]bool{}}
}

// arrived takes note of a request, or of its cancellation.
func (o *open) arrived(msg jsonrpc.Message) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if req.IsCall() {
		o.requests[req.ID] = false
		return
	}
	if id, ok := cancelledID(req); ok {
		if _, running := o.requests[id]; running {
			o.requests[id] = true
		}
	}
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

func (o *open) cancelled(id jsonrpc.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests[id]
}

func (o *open) answered(id jsonrpc.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.requests, id)
	if o.none != nil && len(o.requests) == 0 {
		close(o.none)
		o.none = nil
	}
}

// drain waits until every request has its answer, for d at most.
func (o *open) drain(d time.Duration, stop <-chan struct{}) {
	o.mu.Lock()
	none := make(chan struct{})
	if len(o.requests) == 0 {
		close(none)
	} else {
		o.none = none
	}
	o.mu.Unlock()
	select {
	case <-none:
	case <-stop:
	case <-time.After(d):
	}
}
