// Package redact replaces secret values in texts: the value itself, and its forms in
// base64, in hexadecimal, in URLs and in JSON. A stream is cut so that a value is found wherever the
// pieces of the stream begin and end.
//
// It finds whole values only. Parts of a value, and other encodings of it, are not
// found.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// Min is the length in bytes of the shortest value that is replaced: a shorter one is
// part of many words.
const Min = 8

// Filter replaces values. It does not change, and can be used at the same time.
type Filter struct {
	forms   []form
	longest int
	first   [256]bool // the bytes with which forms begin
}

// form is one way to write a value.
// A value is also found in base64 at each of the three offsets of a longer text, and as JSON
// writes it. Values that overlap become one marker.
type form struct {
	text []byte
	name string
}

// New returns a filter that replaces each value by [redacted:NAME]. Values shorter than
// Min are left out. A filter without values changes nothing.
func New(values map[string]string) *Filter {
	f := &Filter{}
	for name, value := range values {
		if len(value) < Min {
			continue
		}
		for _, text := range formsOf(value) {
			f.forms = append(f.forms, form{[]byte(text), name})
			f.first[text[0]] = true
			f.longest = max(f.longest, len(text))
		}
	}
	// The longest form at a position names what is replaced.
	slices.SortFunc(f.forms, func(a, b form) int {
		return cmp.Or(
			len(b.text)-len(a.text),
			bytes.Compare(a.text, b.text),
			strings.Compare(a.name, b.name),
		)
	})
	f.forms = slices.CompactFunc(f.forms, func(a, b form) bool {
		return bytes.Equal(a.text, b.text)
	})
	return f
}

// formsOf returns the ways to write a value.
func formsOf(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	digits := hex.EncodeToString([]byte(value))
	for _, s := range out[1:] {
		out = append(out, lowerHex(s))
	}
	out = append(out, digits, strings.ToUpper(digits))
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			out = append(out, inBase64(enc, value, offset))
		}
	}
	if b, err := jsonx.Marshal(value); err == nil {
		quoted := string(b[1 : len(b)-1])
		out = append(
			out,
			quoted,
			strings.ReplaceAll(quoted, "/", `\/`),
			strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(quoted),
		)
	}
	return out
}

// inBase64 returns the characters that depend on the value alone if it begins at an
// offset of a longer text, such as "user:" before a password.
func inBase64(enc *base64.Encoding, value string, offset int) string {
	s := enc.EncodeToString([]byte(strings.Repeat("x", offset) + value))
	start := []int{0, 2, 3}[offset] // the characters that contain bits of what precedes
	end := len(s)
	if (offset+len(value))%3 != 0 {
		end-- // the last one contains bits of what follows
	}
	return s[start:end]
}

// lowerHex writes the digits of %2F in lower case.
func lowerHex(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			b.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// span is a part of a text that is replaced.
type span struct {
	start, end int
	name       string
}

// spans returns the parts of a text that are replaced, in order. Forms that overlap are one span.
func (f *Filter) spans(text []byte) []span {
	var found []span
	for _, form := range f.forms {
		for at := 0; ; {
			i := bytes.Index(text[at:], form.text)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(form.text), form.name})
			at += i + 1
		}
	}
	// Stable: at one position the longest form comes first.
	slices.SortStableFunc(found, func(a, b span) int {
		return a.start - b.start
	})
	return found
}

// Bytes returns a text with the values replaced.
func (f *Filter) Bytes(text []byte) []byte {
	found := f.spans(text)
	if len(found) == 0 {
		return text
	}
	return emit(nil, text, found, 0, len(text)).out
}

// String returns a text with the values replaced.
func (f *Filter) String(text string) string {
	if len(f.forms) == 0 {
		return text
	}
	return string(f.Bytes([]byte(text)))
}

// emitted is the part of a text that is decided.
type emitted struct {
	out     []byte
	covered int // the end of the last span; it may be beyond what is decided
}

// emit appends text[:limit] to out, with the spans that begin before limit replaced.
// text[:covered] is part of a span that was replaced before.
func emit(out, text []byte, found []span, covered, limit int) emitted {
	at := min(covered, limit)
	for _, s := range found {
		if s.start >= limit {
			break
		}
		if s.start >= covered {
			out = append(out, text[at:s.start]...)
			out = append(out, "[redacted:"+s.name+"]"...)
		}
		covered = max(covered, s.end)
		at = min(max(at, covered), limit)
	}
	return emitted{append(out, text[at:limit]...), covered}
}

// begun returns the length of the longest end of a text that more text can make a value.
// Everything before it is decided: what a person watches arrives at once.
func (f *Filter) begun(text []byte) int {
	for at := max(0, len(text)-f.longest+1); at < len(text); at++ {
		if !f.first[text[at]] {
			continue
		}
		end := text[at:]
		for _, form := range f.forms {
			if len(end) < len(form.text) && bytes.HasPrefix(form.text, end) {
				return len(end)
			}
		}
	}
	return 0
}

// Writer replaces values in what is written to it. It holds back the last bytes as long
// as they can be the beginning of a value: until more is written or it is closed.
type Writer struct {
	to      io.Writer
	filter  *Filter
	held    []byte
	covered int // the bytes of held that are part of a value that was replaced
}

// Writer returns a filter of a stream. Close writes what was held back.
func (f *Filter) Writer(to io.Writer) *Writer {
	return &Writer{to: to, filter: f}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	err := w.pass(len(w.held) - w.filter.begun(w.held))
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was held back. It does not close the stream below.
func (w *Writer) Close() error {
	return w.pass(len(w.held))
}

// pass writes the first n bytes that are held. Each value that begins in them is in
// what is held as a whole.
func (w *Writer) pass(n int) error {
	if n == 0 {
		return nil
	}
	done := emit(nil, w.held, w.filter.spans(w.held), w.covered, n)
	w.held = append(w.held[:0], w.held[n:]...)
	w.covered = max(0, done.covered-n)
	if len(done.out) == 0 {
		return nil
	}
	_, err := w.to.Write(done.out)
	return err
}

// Text is Writer for texts that come in pieces.
type Text struct {
	out bytes.Buffer
	w   *Writer
}

// Text returns a filter of a text that comes in pieces.
func (f *Filter) Text() *Text {
	t := &Text{}
	t.w = f.Writer(&t.out)
	return t
}

// Add adds a piece to the text, and returns the part of the text that is decided and was not
// returned yet.
func (t *Text) Add(piece string) string {
	_, _ = t.w.Write([]byte(piece)) // a buffer does not fail
	return t.take()
}

// Rest returns the text that was held back.
func (t *Text) Rest() string {
	_ = t.w.Close()
	return t.take()
}

func (t *Text) take() string {
	s := t.out.String()
	t.out.Reset()
	return s
}
