package applet

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// bom is the UTF-8 byte order mark.
const bom = "\xef\xbb\xbf"

// maxLines is the largest number of lines of a text.
const maxLines = 500_000

// line is one line of a text: its content and its ending ("\n", "\r\n", or ""
// for a last line without one).
type line struct{ text, end string }

// text is a file cut into lines. prefix and the lines together are the file,
// byte for byte.
type text struct {
	prefix   string // a byte order mark, or nothing
	lines    []line
	encoding string // utf-8, utf-8-bom, or unknown-8bit
}

// parseText cuts a file into lines; a binary one is an error.
func parseText(given string, data []byte) (text, error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return text{}, binaryFile(given, data, i)
	}
	var t text
	s := string(data)
	t.encoding = "utf-8"
	if rest, ok := strings.CutPrefix(s, bom); ok {
		t.prefix, s, t.encoding = bom, rest, "utf-8-bom"
	}
	if !utf8.ValidString(s) {
		t.encoding = "unknown-8bit"
	}
	if n := strings.Count(s, "\n"); n > maxLines {
		return text{}, diag.New(diag.TooLarge, "reading %q: %d lines, more than %d", given, n, maxLines).
			WithHint("use grep to find the part you need, or bash to cut it out")
	}
	t.lines = splitLines(s)
	return t, nil
}

func binaryFile(given string, data []byte, at int) error {
	e := diag.New(diag.Encoding, "reading %q: the file is binary (NUL at byte %d)", given, at)
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		e = diag.New(diag.Encoding, "reading %q: the file is UTF-16, not UTF-8", given)
	}
	return e.WithHint("only text is read and edited here; use bash for other files")
}

func splitLines(s string) []line {
	lines := make([]line, 0, strings.Count(s, "\n")+1)
	for s != "" {
		l := line{text: s}
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			l, s = line{s[:i], "\n"}, s[i+1:]
			if t, ok := strings.CutSuffix(l.text, "\r"); ok {
				l = line{t, "\r\n"}
			}
		} else {
			s = ""
		}
		lines = append(lines, l)
	}
	return lines
}

// bytes puts the file together again.
func (t text) bytes() []byte {
	n := len(t.prefix)
	for _, l := range t.lines {
		n += len(l.text) + len(l.end)
	}
	out := make([]byte, 0, n)
	out = append(out, t.prefix...)
	for _, l := range t.lines {
		out = append(append(out, l.text...), l.end...)
	}
	return out
}

// ending is the line ending that most lines have, "\n" when none has any.
func (t text) ending() string {
	crlf, lf := 0, 0
	for _, l := range t.lines {
		switch l.end {
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

// maxLine is the number of characters of one line that are shown.
const maxLine = 2000

// shorten cuts a line to maxLine characters and says so; it reports whether
// it did. The result is valid UTF-8.
func shorten(s string) (string, bool) {
	if len(s) <= maxLine {
		return valid(s), false
	}
	n := 0
	for i := range s {
		if n == maxLine {
			return valid(s[:i]) + " …[line shortened]", true
		}
		n++
	}
	return valid(s), false
}

// valid replaces what is not UTF-8, for JSON.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
