package mcpserve

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// open are the requests of one connection that have no answer yet, and whether
// their client has cancelled them: then they must not get one.
type open struct {
	mu       sync.Mutex
	requests map[jsonrpc.ID]bool
	writing  int           // answers on their way out
	none     chan struct{} // of drain: closed when nothing is open
}

func newOpen() *open {
	return &open{requests: map[jsonrpc.ID]bool{}}
}

// arrived takes note of a request, or of its cancellation. It reports whether
// the id of a request is free: a client could not tell two answers apart.
func (o *open) arrived(msg jsonrpc.Message) bool {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if req.IsCall() {
		_, running := o.requests[req.ID]
		if !running {
			o.requests[req.ID] = false
		}
		return !running
	}
	if id, ok := cancelledID(req); ok {
		if _, running := o.requests[id]; running {
			o.requests[id] = true
		}
	}
	return true
}

// inUse is the error about a request under an id that is not free. It goes out
// without the id, under which the answer to the other request is still to come.
func inUse(id jsonrpc.ID) *jsonrpc.Error {
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

// answering frees an id, as the next request may come under it the moment the
// answer is out, and tells whether the answer must not go out.
func (o *open) answering(id jsonrpc.ID) (cancelled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	cancelled = o.requests[id]
	delete(o.requests, id)
	o.writing++
	return cancelled
}

func (o *open) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing--
	if o.none != nil && o.quiet() {
		close(o.none)
		o.none = nil
	}
}

func (o *open) quiet() bool { return len(o.requests) == 0 && o.writing == 0 }

// drain waits until every request has its answer, for d at most.
func (o *open) drain(d time.Duration, stop <-chan struct{}) {
	o.mu.Lock()
	none := make(chan struct{})
	if o.quiet() {
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
