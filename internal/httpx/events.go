package httpx

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/ryeos/rye/diag"
)

// Limits of events.
const (
	MaxLine  = 1 << 20 // bytes of one line
	MaxEvent = 4 << 20 // bytes of the data of one event
)

// Event is one message of a stream.
type Event struct {
	Name string // of server-sent events; "" is "message"
	ID   string
	Data []byte // valid only during the call
}

// Framing is the format that divides a stream into events.
type Framing string

// Framings.
const (
	SSE       Framing = "sse"   // text/event-stream
	JSONLines Framing = "jsonl" // one value a line
)

// Events reads the events of r and calls yield for each; an error of yield ends
// the work. Lines longer than MaxLine and events longer than MaxEvent are
// errors. As the SSE standard demands, an event that the end of the stream cuts
// off is not yielded; cut reports it. Neither is a last line that is not one JSON value.
func Events(r io.Reader, f Framing, yield func(Event) error) (cut bool, err error) {
	lines := &lineReader{r: bufio.NewReaderSize(r, 32<<10), bareCR: f == SSE}
	if f == SSE {
		return readSSE(lines, yield)
	}
	return readJSONLines(lines, yield)
}

func readJSONLines(lines *lineReader, yield func(Event) error) (cut bool, err error) {
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		data := bytes.TrimSpace(line)
		if err != nil && len(data) > 0 && !json.Valid(data) {
			return true, nil
		}
		if len(data) > 0 {
			if err := yield(Event{Data: data}); err != nil {
				return false, err
			}
		}
		if err != nil {
			return false, nil
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// sse collects the fields of one event.
type sse struct {
	ev   Event
	data []byte
	any  bool // a data field was seen
}

func readSSE(lines *lineReader, yield func(Event) error) (cut bool, err error) {
	var s sse
	for first := true; ; first = false {
		line, err := lines.next()
		if first {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if err != nil { // a last line without its end is part of an event that is cut off
			return s.any || len(line) > 0, noEOF(err)
		}
		if len(line) > 0 {
			if err := s.field(line); err != nil {
				return false, err
			}
			continue
		}
		if s.any {
			s.ev.Data = bytes.TrimSuffix(s.data, []byte("\n"))
			if err := yield(s.ev); err != nil {
				return false, err
			}
		}
		s = sse{ev: Event{ID: s.ev.ID}, data: s.data[:0]}
	}
}

func (s *sse) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		s.data = append(append(s.data, value...), '\n')
		s.any = true
		if len(s.data) > MaxEvent+1 {
			return diag.New(diag.ResourceExceeded, "reading a stream: an event has more than %d bytes", MaxEvent)
		}
	case "event":
		s.ev.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			s.ev.ID = string(value)
		}
	}
	return nil // comments, retry and unknown fields
}

// lineReader ends lines at LF and CRLF, and at a bare CR if bareCR is set.
type lineReader struct {
	r      *bufio.Reader
	bareCR bool
	skipLF bool // the line before ended with CR
	line   []byte
}

// next returns a line without its end, valid until the next call. The text after
// the last line's end is returned together with the error.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		if _, err := l.r.Peek(1); err != nil {
			return l.line, err
		}
		buf, _ := l.r.Peek(l.r.Buffered())
		if l.skipLF {
			l.skipLF = false
			if buf[0] == '\n' {
				l.r.Discard(1)
				continue
			}
		}
		i := bytes.IndexByte(buf, '\n')
		if l.bareCR {
			i = bytes.IndexAny(buf, "\r\n")
		}
		if i >= 0 {
			l.line = append(l.line, buf[:i]...)
			l.skipLF = buf[i] == '\r'
			l.r.Discard(i + 1)
			return l.line, l.tooLong()
		}
		l.line = append(l.line, buf...)
		l.r.Discard(len(buf))
		if err := l.tooLong(); err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) tooLong() error {
	if len(l.line) <= MaxLine {
		return nil
	}
	return diag.New(diag.ResourceExceeded, "reading a stream: a line has more than %d bytes", MaxLine)
}
