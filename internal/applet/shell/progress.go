package shell

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/proc"
)

const (
	// progressInterval is the time between two reports.
	progressInterval = 200 * time.Millisecond
	// maxProgress is the longest line that is reported, in bytes.
	maxProgress = 400
)

// progress reports the last line of a running command to the caller of the
// applet. The result contains all lines in any case.
type progress struct {
	w      io.Writer
	cancel context.CancelFunc // called when w fails: no caller reads any more
	done   chan struct{}      // closed by stop
	ended  chan struct{}      // closed after the last write

	mu   sync.Mutex
	last []byte
	new  bool // last is not reported yet
}

// newProgress starts to report. It returns nil, which reports nothing, if w is
// nil.
func newProgress(w io.Writer, cancel context.CancelFunc) *progress {
	if w == nil {
		return nil
	}
	p := &progress{
		w:      w,
		cancel: cancel,
		done:   make(chan struct{}),
		ended:  make(chan struct{}),
	}
	go p.run()
	return p
}

// line takes a line of output.
func (p *progress) line(b []byte) {
	if p == nil {
		return
	}
	b = bytes.TrimRight(b, "\r")
	b = b[bytes.LastIndexByte(b, '\r')+1:] // a terminal shows the text after the last carriage return
	if len(b) > maxProgress {
		b = trimPartial(b[:maxProgress])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = append(p.last[:0], b...)
	p.new = true
}

func (p *progress) run() {
	defer close(p.ended)
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-tick.C:
		}
		if line := p.take(); line != "" {
			_, err := io.WriteString(p.w, proc.LiveMark+line+"\n")
			if err != nil {
				p.cancel()
				return
			}
		}
	}
}

// take returns the last line, or "" if it was reported.
func (p *progress) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.new {
		return ""
	}
	p.new = false
	return wire.Valid(string(p.last))
}

// stop ends the reports. Nothing is written after it returns.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	<-p.ended
}
