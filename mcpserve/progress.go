package mcpserve

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/hidden"
)

const (
	// progressInterval is the time between notifications while a call prints.
	progressInterval = time.Second
	// heartbeatInterval is the time between notifications while a call is silent:
	// clients give up on a request that is silent for a minute.
	heartbeatInterval = 10 * time.Second
	// maxProgress is the maximum length of a message, in bytes.
	maxProgress = 400
)

// progress sends progress notifications about one call: when it starts, then its
// last line of output. A nil progress sends nothing.
type progress struct {
	send  func(n float64, message string)
	done  chan struct{} // closed by stop
	ended chan struct{} // closed when run has returned

	mu    sync.Mutex
	last  string
	fresh bool
}

// newProgress starts notifications, or returns nil if the request has no token.
func newProgress(ctx context.Context, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{done: make(chan struct{}), ended: make(chan struct{})}
	p.send = func(n float64, message string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
	}
	p.send(1, "started")
	go p.run(ctx)
	return p
}

// line returns the function that receives the lines of output.
func (p *progress) line() func(string) {
	if p == nil {
		return nil
	}
	return func(s string) {
		s = clip(s)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = s
		p.fresh = true
	}
}

// waiting reports that the call does not run yet.
func (p *progress) waiting() {
	if p != nil {
		p.line()("waiting until other calls have ended")
	}
}

// run sends notifications until the call ends.
func (p *progress) run(ctx context.Context) {
	defer close(p.ended)
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	silent := time.Duration(0)
	for n := 2.0; ; {
		select {
		case <-p.done:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		silent += progressInterval
		message, fresh := p.take()
		if fresh || silent >= heartbeatInterval {
			p.send(n, message)
			n++
			silent = 0
		}
	}
}

func (p *progress) take() (message string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh = p.fresh
	p.fresh = false
	return printable(p.last), fresh
}

// stop ends the notifications. None is sent after it returns: the protocol
// permits none after the response.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	<-p.ended
}

// printable returns a line without control and bidirectional characters: a client
// may write it to a terminal.
func printable(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	s = s[strings.LastIndexByte(s, '\r')+1:] // a carriage return overwrites what precedes it
	return clip(hidden.Visible(strings.ReplaceAll(s, "\t", " ")))
}

// clip shortens a text to maxProgress, at a character.
func clip(s string) string {
	if len(s) <= maxProgress {
		return s
	}
	s = s[:maxProgress]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) {
		s = s[:len(s)-1]
	}
	return s + "…"
}
