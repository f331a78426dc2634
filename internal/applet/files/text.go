package files

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
)

// bom is the UTF-8 byte order mark.
const bom = "\xef\xbb\xbf"

// maxLines is the largest number of lines of a text.
const maxLines = 500_000

// Line is one line of a text: its content and its ending ("\n", "\r\n", or ""
// for a last line without one).
type Line struct{ Text, End string }

// Text is a file divided into lines. Prefix and the lines together are the
// file, byte for byte.
type Text struct {
	Prefix   string // a byte order mark, or ""
	Lines    []Line
	Encoding string // utf-8, utf-8-bom, or unknown-8bit
}

// ParseText divides a file into lines. A binary file is an error. given is the
// file's name in errors.
func ParseText(given string, data []byte) (Text, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		if bytes.HasPrefix(data, []byte("\xff\xfe")) ||
			bytes.HasPrefix(data, []byte("\xfe\xff")) {
			return Text{}, diag.New(diag.Encoding, "reading %q: the file is UTF-16, not UTF-8", given)
		}
		return Text{}, diag.New(diag.Encoding, "reading %q: the file is binary (NUL at byte %d)", given, i)
	}
	t := Text{Encoding: "utf-8"}
	s := string(data)
	if rest, ok := strings.CutPrefix(s, bom); ok {
		s = rest
		t.Prefix = bom
		t.Encoding = "utf-8-bom"
	}
	if !utf8.ValidString(s) {
		t.Encoding = "unknown-8bit"
	}
	if n := strings.Count(s, "\n"); n > maxLines {
		return Text{}, diag.New(diag.TooLarge, "reading %q: %d lines, more than %d", given, n, maxLines)
	}
	t.Lines = SplitLines(s)
	return t, nil
}

// SplitLines returns the lines of s with their endings.
func SplitLines(s string) []Line {
	lines := make([]Line, 0, strings.Count(s, "\n")+1)
	for s != "" {
		text, rest, ended := strings.Cut(s, "\n")
		l := Line{Text: text}
		if ended {
			l.End = "\n"
			if t, ok := strings.CutSuffix(text, "\r"); ok {
				l = Line{t, "\r\n"}
			}
		}
		lines = append(lines, l)
		s = rest
	}
	return lines
}

// Bytes returns the file.
func (t Text) Bytes() []byte {
	n := len(t.Prefix)
	for _, l := range t.Lines {
		n += len(l.Text) + len(l.End)
	}
	out := make([]byte, 0, n)
	out = append(out, t.Prefix...)
	for _, l := range t.Lines {
		out = append(append(out, l.Text...), l.End...)
	}
	return out
}

// Ending returns the line ending of most lines, "\n" if no line has one.
func (t Text) Ending() string {
	crlf := 0
	lf := 0
	for _, l := range t.Lines {
		switch l.End {
		case "\r\n":
			crlf++
		case "\n":
			lf++
		}
	}
	if crlf > lf {
		return "\r\n"
	}
	return "\n"
}

// MaxLine is the number of characters of one line that are shown, and Shortened the mark after
// them.
const (
	MaxLine   = 2000
	Shortened = " …[line shortened]"
)

// Shorten cuts a line to 2,000 characters and marks the cut; it reports whether
// it did. The result is valid UTF-8.
func Shorten(s string) (string, bool) {
	if len(s) <= MaxLine {
		return wire.Valid(s), false
	}
	n := 0
	for i := range s {
		if n == MaxLine {
			return wire.Valid(s[:i]) + Shortened, true
		}
		n++
	}
	return wire.Valid(s), false
}
