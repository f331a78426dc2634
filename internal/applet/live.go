package applet

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/proc"
)

const (
	// liveOften is how often a command that prints is told of.
	liveOften = 200 * time.Millisecond
	// maxLive is the longest line that is told, in bytes.
	maxLive = 400
)

// live tells whoever waits for the applet the last line that a command printed,
// now and then while it runs. The result holds all of it anyway.
type live struct {
	w    io.Writer
	gone context.CancelFunc // called when nobody reads any more
	done chan struct{}      // closed by stop
	end  chan struct{}      // closed when nothing is written any more

	mu    sync.Mutex
	last  []byte
	fresh bool
}

// newLive starts to tell; nil when nobody listens.
func newLive(w io.Writer, gone context.CancelFunc) *live {
	if w == nil {
		return nil
	}
	l := &live{w: w, gone: gone, done: make(chan struct{}), end: make(chan struct{})}
	go l.run()
	return l
}

// line takes a line of output.
func (l *live) line(b []byte) {
	if l == nil {
		return
	}
	b = bytes.TrimRight(b, "\r")
	b = b[bytes.LastIndexByte(b, '\r')+1:] // what stands there at last
	if len(b) > maxLive {
		b = trimPartial(b[:maxLive])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.fresh = append(l.last[:0], b...), true
}

func (l *live) run() {
	defer close(l.end)
	tick := time.NewTicker(liveOften)
	defer tick.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		if line := l.take(); line != "" {
			if _, err := io.WriteString(l.w, proc.LiveMark+line+"\n"); err != nil {
				l.gone()
				return
			}
		}
	}
}

// take returns the last line, "" when it was told already.
func (l *live) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fresh {
		return ""
	}
	l.fresh = false
	return valid(string(l.last))
}

// stop ends the reports: nothing is written once it has returned.
func (l *live) stop() {
	if l == nil {
		return
	}
	close(l.done)
	<-l.end
}
