package proc

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
)

const maxLine = 64 << 10

// collector reads one output. It keeps the first max bytes, counts the rest, and
// divides the output into lines for a callback.
type collector struct {
	r       *os.File
	max     int64
	kept    []byte
	dropped int64
	lines   *lineCutter  // nil without a callback
	raw     func([]byte) // nil without a callback
	done    chan struct{}
	read    atomic.Int64 // bytes so far
	busy    atomic.Bool  // a callback runs
}

func newCollector(r *os.File, max int64, lines *lineCutter) *collector {
	if max == 0 {
		max = DefaultMaxOutput
	}
	return &collector{
		r:     r,
		max:   max,
		lines: lines,
		done:  make(chan struct{}),
	}
}

// drain reads to the end, or until the pipe is closed.
func (c *collector) drain() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for {
		n, err := c.r.Read(buf)
		c.busy.Store(true)
		c.read.Add(int64(n))
		c.keep(buf[:n])
		if c.raw != nil && n > 0 {
			c.raw(buf[:n])
		}
		if c.lines != nil {
			c.lines.write(buf[:n])
		}
		c.busy.Store(false)
		if err != nil {
			break
		}
	}
	if c.lines != nil {
		c.lines.flush()
	}
}

func (c *collector) keep(b []byte) {
	free := max(0, c.max-int64(len(c.kept)))
	if int64(len(b)) > free {
		c.dropped += int64(len(b)) - free
		b = b[:free]
	}
	c.kept = append(c.kept, b...)
}

// lineCutter calls fn for each line, and for the pieces of a line above maxLine.
type lineCutter struct {
	mu     *sync.Mutex // shared by both streams
	fn     func(Stream, []byte)
	stream Stream
	part   []byte
	pieces bool // part continues a line whose beginning was passed to fn
}

func (l *lineCutter) write(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		end := i
		if i < 0 {
			end = len(b)
		}
		take := min(end, maxLine-len(l.part))
		l.part = append(l.part, b[:take]...)
		b = b[take:]
		switch {
		case take == end && i >= 0:
			b = b[1:]
			l.endLine()
		case len(l.part) == maxLine:
			l.emit()
			l.pieces = true
		}
	}
}

func (l *lineCutter) endLine() {
	if len(l.part) > 0 || !l.pieces {
		l.emit()
	}
	l.pieces = false
}

func (l *lineCutter) flush() {
	if len(l.part) > 0 {
		l.emit()
	}
}

func (l *lineCutter) emit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fn(l.stream, l.part)
	l.part = l.part[:0]
}
