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
	// everySoOften is how often a call that prints is told of.
	everySoOften = time.Second
	// atLeast is how often a call that is silent is told of: clients give up on
	// a request that says nothing for a minute.
	atLeast = 10 * time.Second
	// maxProgress is the longest line that is shown, in bytes.
	maxProgress = 400
)

// progress tells the client that a call is alive: when it starts, then its
// last line of output. A call that nobody asked to hear of has a nil one.
type progress struct {
	send func(n float64, message string)
	done chan struct{} // closed by stop
	gone chan struct{} // closed when nothing will be sent any more

	mu    sync.Mutex
	last  string
	fresh bool
}

// newProgress starts to report on a call, if the request wants to hear of it.
func newProgress(ctx context.Context, req *mcp.CallToolRequest) *progress {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	p := &progress{done: make(chan struct{}), gone: make(chan struct{})}
	p.send = func(n float64, message string) {
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
	}
	p.send(1, "started")
	go p.run(ctx)
	return p
}

// line returns what takes the lines of output.
func (p *progress) line() func(string) {
	if p == nil {
		return nil
	}
	return func(s string) {
		s = clip(s)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last, p.fresh = s, true
	}
}

// waits tells that a call does not run yet.
func (p *progress) waits() {
	if p != nil {
		p.line()("waiting until other calls have ended")
	}
}

// run sends until the call ends.
func (p *progress) run(ctx context.Context) {
	defer close(p.gone)
	tick := time.NewTicker(everySoOften)
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
		silent += everySoOften
		message, fresh := p.take()
		if fresh || silent >= atLeast {
			p.send(n, message)
			n, silent = n+1, 0
		}
	}
}

func (p *progress) take() (message string, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh, p.fresh = p.fresh, false
	return shown(p.last), fresh
}

// stop ends the reports. Nothing is sent once it has returned: the answer is
// the last word on a request.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	<-p.gone
}

// shown is a line as a client may show it: what a program writes to a terminal
// would move its cursor there and turn its text around.
func shown(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	s = s[strings.LastIndexByte(s, '\r')+1:] // what stands there at last
	return clip(hidden.Visible(strings.ReplaceAll(s, "\t", " ")))
}

// clip shortens a line to what a client shows.
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
