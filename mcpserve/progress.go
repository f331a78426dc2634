package mcpserve

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
)

const (
	// progressInterval is the time between notifications while a call prints.
	progressInterval = time.Second
	// stepInterval is the minimum time between notifications with numbers of the tool.
	stepInterval = 100 * time.Millisecond
	// heartbeatInterval is the time between notifications while a call is silent:
	// clients give up on a request that is silent for a minute.
	heartbeatInterval = 10 * time.Second
	// maxProgress is the maximum length of a message, in bytes.
	maxProgress = 400
)

// progress sends progress notifications about one call: when it starts, then its
// last line of output, or the numbers that the tool reports. A nil progress sends
// nothing.
//
// The protocol requires that the number increases. Without numbers of the tool it
// counts the notifications, from 0 for the start, so that the first number of a tool
// that reports soon is sent as it is.
type progress struct {
	send  func(n, total float64, message string)
	done  chan struct{} // closed by stop
	ended chan struct{} // closed when run has returned
	wake  chan struct{} // contains a token while there is a new number

	mu    sync.Mutex
	last  string
	fresh bool
	step  *step // the newest one, until it is sent

	at     float64 // the last number that was sent; of run only
	total  float64
	base   float64 // what was sent before the tool's first number
	number bool    // the tool reports numbers
	sent   time.Time
}

// step is a number that a tool reports; total is 0 if it is unknown.
type step struct{ done, total float64 }

// newProgress starts notifications, or returns nil if the request has no token.
func newProgress(ctx context.Context, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{done: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	p.send = func(n, total float64, message string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      n,
			Total:         total,
			Message:       message,
		})
	}
	p.notify(0, "started")
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

// steps returns the function that receives the numbers of a tool.
func (p *progress) steps() func(done, total float64, message string) {
	if p == nil {
		return nil
	}
	return func(done, total float64, message string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.step = &step{done, total}
		p.last = clip(message)
		select {
		case p.wake <- struct{}{}:
		default:
		}
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
	for {
		select {
		case <-p.done:
			return
		case <-ctx.Done():
			return
		case <-p.wake:
			if !p.pause(ctx) {
				return
			}
			p.sendStep()
		case <-tick.C:
			p.sendLine()
		}
	}
}

// pause waits until another number may be sent. It returns false if the call ends
// before.
func (p *progress) pause(ctx context.Context) bool {
	t := time.NewTimer(time.Until(p.sent.Add(stepInterval)))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
	case <-ctx.Done():
	}
	return false
}

// sendStep sends the newest number of the tool. One that does not increase is left
// out.
func (p *progress) sendStep() {
	p.mu.Lock()
	s := p.step
	message := printable(p.last)
	p.step = nil
	p.mu.Unlock()
	if s == nil {
		return
	}
	if !p.number {
		p.number = true
		p.base = p.at
	}
	n := p.base + s.done
	if !(n > p.at) {
		return
	}
	p.total = 0
	if s.total > 0 {
		p.total = p.base + s.total
	}
	p.notify(n, message)
}

// sendLine sends the last line of output if it is new, or if nothing was sent for a
// while.
func (p *progress) sendLine() {
	message, fresh := p.take()
	if !fresh && time.Since(p.sent) < heartbeatInterval {
		return
	}
	increment := 1.0
	if p.number {
		increment = 1.0 / 1024 // far below the next number of the tool
	}
	p.notify(p.at+increment, message)
}

func (p *progress) notify(n float64, message string) {
	p.at, p.sent = n, time.Now()
	p.send(n, p.total, message)
}

func (p *progress) take() (message string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh = p.fresh
	p.fresh = false
	return printable(p.last), fresh
}

// stop ends the notifications, after the last number of the tool. None is sent after
// it returns: the protocol permits none after the response.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	<-p.ended
	p.sendStep()
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
	return cuttext.Short(s, maxProgress)
}
