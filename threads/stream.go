package threads

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/threads/message"
)

// TextFilter removes the values of keys from a text that arrives in pieces: a value can be
// divided at any byte.
type TextFilter interface {
	// Add adds a piece, and returns the part of the text that is decided and was not returned yet.
	Add(piece string) string
	// Rest returns the text that was held back.
	Rest() string
}

// unchanged is the filter of a thread without keys.
type unchanged struct{}

func (unchanged) Add(piece string) string {
	return piece
}
func (unchanged) Rest() string { return "" }

func (t *Thread) textFilter() TextFilter {
	if t.p.RedactText == nil {
		return unchanged{}
	}
	return t.p.RedactText()
}

// deltas joins the parts of an answer as they arrive into at most one event each 50 ms
// or 512 bytes.
type deltas struct {
	ctx  context.Context
	t    *Thread
	turn int64

	mu    sync.Mutex
	texts map[part]TextFilter
	parts []part // in the order in which they began
	held  []message.Delta
	size  int
	sent  time.Time
	timer *time.Timer // writes what is held; nil if nothing is
}

// part is one text of an answer, whose deltas are its pieces.
type part struct {
	kind message.DeltaKind
	call string
}

const (
	deltaTime = 50 * time.Millisecond
	deltaSize = 512
)

func (d *deltas) add(piece message.Delta) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := part{piece.Kind, piece.CallID}
	if d.texts[of] == nil {
		d.texts[of] = d.t.textFilter()
		d.parts = append(d.parts, of)
	}
	text := d.texts[of].Add(piece.Text)
	if text == "" && piece.Text != "" {
		return // it can be the beginning of a key
	}
	piece.Text = text
	d.hold(piece)
	wait := deltaTime - time.Since(d.sent)
	if d.size >= deltaSize || wait <= 0 {
		d.write()
	} else if d.timer == nil {
		// A model can pause after any piece, which must not stay invisible until the next.
		d.timer = time.AfterFunc(wait, d.late)
	}
}

// late writes what was held for a while.
func (d *deltas) late() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.write()
}

func (d *deltas) hold(piece message.Delta) {
	n := len(d.held)
	if n > 0 &&
		d.held[n-1].Kind == piece.Kind &&
		d.held[n-1].CallID == piece.CallID {
		d.held[n-1].Text += piece.Text
	} else {
		d.held = append(d.held, piece)
	}
	d.size += len(piece.Text)
}

// flush records what was held back: the answer has ended.
func (d *deltas) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, of := range d.parts {
		if text := d.texts[of].Rest(); text != "" {
			d.hold(message.Delta{Kind: of.kind, CallID: of.call, Text: text})
		}
	}
	d.write()
}

// write records the held pieces. The parts are for people who watch: a part that cannot
// be recorded is not a failure of the call, because the answer is recorded whole.
func (d *deltas) write() {
	for _, piece := range d.held {
		_ = d.t.record(d.ctx, false, evDelta, deltaData{d.turn, piece})
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.held, d.size, d.sent, d.timer = nil, 0, time.Now(), nil
}

// output records the lines that a tool prints while it runs. A value of several lines, such
// as a private key, is found, too: a line that can be the beginning of one is held back.
type output struct {
	ctx  context.Context
	t    *Thread
	call string

	mu      sync.Mutex
	streams []*outputStream
}

type outputStream struct {
	name string
	text TextFilter
	line string // the beginning of a line, whose rest is held back
}

// add receives a line without its end.
func (o *output) add(stream, line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.stream(stream)
	o.write(s, s.text.Add(line+"\n"))
}

func (o *output) stream(name string) *outputStream {
	for _, s := range o.streams {
		if s.name == name {
			return s
		}
	}
	s := &outputStream{name: name, text: o.t.textFilter()}
	o.streams = append(o.streams, s)
	return s
}

// flush records what was held back: the call has ended.
func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		o.write(s, s.text.Rest())
		if s.line != "" { // a value at the end of the last line
			o.write(s, "\n")
		}
	}
}

// write records whole lines.
func (o *output) write(s *outputStream, text string) {
	lines := strings.Split(s.line+text, "\n")
	s.line = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		_ = o.t.record(o.ctx, false, evOutput, map[string]any{"call_id": o.call, "stream": s.name, "text": line})
	}
}
