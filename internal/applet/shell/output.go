package shell

import (
	"fmt"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/proc"
)

// headTail keeps the first and the last bytes of a stream, half of the limit each.
type headTail struct {
	half  int
	head  []byte
	tail  []byte // at most 2*half; its first bytes are dropped when it is full
	total int
}

func (h *headTail) write(p []byte) {
	h.total += len(p)
	if free := h.half - len(h.head); free > 0 {
		n := min(free, len(p))
		h.head = append(h.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > h.half {
		p = p[len(p)-h.half:]
	}
	if len(h.tail)+len(p) > 2*h.half {
		h.tail = append(
			h.tail[:0],
			h.tail[max(0, len(h.tail)-h.half):]...,
		)
	}
	h.tail = append(h.tail, p...)
}

// text returns the kept bytes, with a mark where bytes are missing. cut reports
// that some are.
func (h *headTail) text() (s string, cut bool) {
	tail := h.tail[max(0, len(h.tail)-h.half):]
	missing := h.total - len(h.head) - len(tail)
	if missing == 0 {
		return wire.Valid(string(h.head) + string(tail)), false
	}
	head := trimPartial(h.head)
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	missing = h.total - len(head) - len(tail)
	return fmt.Sprintf(
		"%s\n… [%d bytes left out] …\n%s",
		wire.Valid(string(head)),
		missing,
		wire.Valid(string(tail)),
	), true
}

// trimPartial removes an incomplete character at the end.
func trimPartial(b []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// lineBuffer is a headTail that takes lines without their newlines. It writes
// each newline before the next line, because the last line may have none.
type lineBuffer struct {
	headTail
	started bool
}

func (b *lineBuffer) line(p []byte) {
	if b.started {
		b.write([]byte{'\n'})
	}
	b.started = true
	b.write(p)
}

// end returns the kept text. newline is set if the last line had its newline.
func (b *lineBuffer) end(newline bool) (string, bool) {
	if newline && b.started {
		b.write([]byte{'\n'})
	}
	return b.text()
}

// outputs collects lines as they are read: of each stream, and of both.
type outputs struct {
	out, err, all lineBuffer
	last          proc.Stream // the stream of the last line
}

func newOutputs() *outputs {
	o := &outputs{}
	o.out.half, o.err.half, o.all.half = maxStream/2, maxStream/2, maxMixed/2
	return o
}

func (o *outputs) line(s proc.Stream, line []byte) {
	o.last = s
	o.all.line(line)
	if s == proc.Stderr {
		o.err.line(line)
	} else {
		o.out.line(line)
	}
}

// stream returns the exact bytes if proc dropped none, else the kept lines.
func (b *lineBuffer) stream(exact []byte, dropped int64) (string, bool) {
	if dropped == 0 {
		return wire.Valid(string(exact)), false
	}
	return b.end(true)
}

// both returns the lines of the two streams in the order of reading.
func (o *outputs) both(r proc.Result) (string, bool) {
	exact := r.Stdout
	dropped := r.StdoutDropped
	if o.last == proc.Stderr {
		exact = r.Stderr
		dropped = r.StderrDropped
	}
	n := len(exact)
	return o.all.end(dropped > 0 || n > 0 && exact[n-1] == '\n')
}
