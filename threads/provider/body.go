package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
)

// readEvents reads the events of an answer in the framing that it has. Not always is that the
// framing of the dialect: one JSON document in place of a stream, documents in place of
// server-sent events, or the other way. Events without data are left out.
func readEvents(r io.Reader, want httpx.Framing, odd *oddities, yield func(httpx.Event) error) error {
	in := bufio.NewReaderSize(r, 32<<10)
	first, err := firstByte(in)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	take := func(e httpx.Event) error {
		if len(bytes.TrimSpace(e.Data)) == 0 {
			odd.add(EmptyData)
			return nil
		}
		return yield(e)
	}
	if first == '{' || first == '[' {
		n, err := documents(in, take)
		switch {
		case want != httpx.SSE:
		case n == 1:
			odd.add(WholeBody)
		case n > 1:
			odd.add(OtherFraming)
		}
		return err
	}
	if want == httpx.JSONLines && startsSSE(in) {
		odd.add(OtherFraming)
		want = httpx.SSE
	}
	_, err = httpx.Events(in, want, take)
	return err
}

// firstByte returns the first byte that is not white space, without consuming it.
func firstByte(in *bufio.Reader) (byte, error) {
	mark, err := in.Peek(3)
	if err == nil && string(mark) == "\uFEFF" {
		in.Discard(3)
	}
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, in.UnreadByte()
		}
	}
}

// startsSSE reports whether a stream begins with a line of server-sent events.
func startsSSE(in *bufio.Reader) bool {
	for _, start := range []string{":", "id:", "data:", "event:", "retry:"} {
		b, err := in.Peek(len(start))
		if err == nil && string(b) == start {
			return true
		}
	}
	return false
}

// documents reads JSON values, each on a line, or one value of several lines. The elements of a list are events. A value that the end of the stream cuts off is left out.
func documents(in *bufio.Reader, yield func(httpx.Event) error) (n int, err error) {
	d := &document{}
	for {
		line, err := in.ReadSlice('\n')
		ended := d.add(line)
		if len(d.text) > httpx.MaxEvent {
			return n, diag.New(diag.ResourceExceeded, "reading a stream: an event has more than %d bytes", httpx.MaxEvent)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !json.Valid(bytes.TrimSpace(d.text)) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		// Only a whole body has several lines: a line of a stream is broken without them.
		if ended || err != nil || n > 0 || d.broken() {
			if text := bytes.TrimSpace(d.text); len(text) > 0 {
				n++
				if err := yieldDocument(text, yield); err != nil {
					return n, err
				}
			}
			d = &document{}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return n, err
		}
		d.lines++
	}
}

func yieldDocument(text []byte, yield func(httpx.Event) error) error {
	all := elements(text)
	if all == nil {
		return yield(httpx.Event{Data: text})
	}
	for _, one := range all {
		if err := yield(httpx.Event{Data: one}); err != nil {
			return err
		}
	}
	return nil
}

// document is a JSON value as its lines arrive.
type document struct {
	text    []byte
	lines   int
	depth   int
	quoted  bool
	escaped bool
}

// add appends a part and reports whether the value is complete after it.
func (d *document) add(part []byte) bool {
	d.text = append(d.text, part...)
	for _, b := range part {
		switch {
		case d.escaped:
			d.escaped = false
		case d.quoted && b == '\\':
			d.escaped = true
		case b == '"':
			d.quoted = !d.quoted
		case d.quoted:
		case b == '{' || b == '[':
			d.depth++
		case b == '}' || b == ']':
			d.depth--
		}
	}
	return d.depth <= 0 && !d.quoted
}

// broken reports whether no value begins with the first line.
func (d *document) broken() bool {
	if d.lines > 0 {
		return false
	}
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(d.text)).Decode(&v)
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}
