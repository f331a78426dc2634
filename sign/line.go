package sign

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/ryeos/rye/diag"
)

const (
	mark       = "rye:signed:"
	timeLayout = "2006-01-02T15:04:05Z"

	timeLen = len(timeLayout)
	hashLen = 64
	sigLen  = 86
	fpLen   = 64
	maxLine = len("<!-- ") + len(mark) + timeLen + 1 + hashLen + 1 + sigLen + 1 + fpLen + len(" -->") + 1
)

// Line is one signature line: the time, the digest of the body, and the key.
type Line struct {
	Time time.Time // UTC, whole seconds; what the signer claimed
	Body [32]byte  // SHA-256 of the file without this line
	Sig  [64]byte
	Key  Fingerprint
}

// Render writes the line in a style, with its line feed.
func (l Line) Render(s Style) string {
	var buf [maxLine]byte
	return string(l.append(buf[:0], s))
}

func (l Line) append(b []byte, s Style) []byte {
	b = append(append(b, s.Open...), mark...)
	b = append(l.Time.UTC().AppendFormat(b, timeLayout), ':')
	b = append(hex.AppendEncode(b, l.Body[:]), ':')
	b = append(base64.RawStdEncoding.AppendEncode(b, l.Sig[:]), ':')
	b = append(hex.AppendEncode(b, l.Key[:]), s.Close...)
	return append(b, '\n')
}

// ParseLine reads one line with its line feed. It accepts exactly what Render
// writes: the fields are parsed, rendered again and compared byte for byte. A
// refusal is SIG_MALFORMED with the field in its details, or LEGACY for a line
// of the earlier format.
func ParseLine(line []byte, s Style) (Line, error) {
	if err := s.check(); err != nil {
		return Line{}, err
	}
	l, err := parseFields(line, s)
	if err == nil {
		var buf [maxLine]byte
		if bytes.Equal(l.append(buf[:0], s), line) {
			return l, nil
		}
		err = malformed("line", "it is not in the form that rye writes")
	}
	if old, ok := ParseLegacy(line); ok {
		return Line{}, old.refusal()
	}
	return Line{}, err
}

func malformed(field, format string, args ...any) *diag.Error {
	e := diag.New(diag.SigMalformed, "reading the signature line: "+format, args...)
	return e.WithDetail("field", field)
}

// parseFields reads the fields. It may accept forms that Render does not write;
// ParseLine refuses those.
func parseFields(line []byte, s Style) (Line, error) {
	text, err := oneLine(line)
	if err != nil {
		return Line{}, err
	}
	rest, ok := bytes.CutPrefix(text, []byte(s.Open))
	if !ok {
		return Line{}, malformed("open", "it does not begin with %q", s.Open)
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(mark)); !ok {
		return Line{}, malformed("open", "%q does not follow the opening mark", mark)
	}
	var l Line
	if len(rest) < timeLen+1 ||
		rest[timeLen] != ':' ||
		!parseTime(&l.Time, rest[:timeLen]) {
		return Line{}, malformed("time", "the time is not a calendar time written YYYY-MM-DDTHH:MM:SSZ")
	}
	return l, l.parseTail(rest[timeLen+1:], s)
}

// parseTail reads what follows the time: hash, signature, fingerprint, close.
func (l *Line) parseTail(rest []byte, s Style) error {
	hash, rest, _ := bytes.Cut(rest, []byte(":"))
	if len(hash) != hashLen || !decodeHex(l.Body[:], hash) {
		return malformed("hash", "the hash is not 64 lower-case hexadecimal digits")
	}
	sig, rest, _ := bytes.Cut(rest, []byte(":"))
	if len(sig) != sigLen {
		return malformed("signature", "the signature has %d characters, want %d, unpadded", len(sig), sigLen)
	}
	_, err := base64.RawStdEncoding.Decode(l.Sig[:], sig)
	if err != nil {
		return malformed("signature", "the signature is not standard base64")
	}
	if len(rest) < fpLen || !decodeHex(l.Key[:], rest[:fpLen]) {
		return malformed("fingerprint", "the fingerprint is not 64 lower-case hexadecimal digits")
	}
	if string(rest[fpLen:]) != s.Close {
		if s.Close == "" {
			return malformed("close", "text follows the fingerprint")
		}
		return malformed("close", "%q does not end it", s.Close)
	}
	return nil
}

// oneLine returns the line without its line feed. The line feed is required, and
// no other control byte is permitted.
func oneLine(line []byte) ([]byte, error) {
	n := len(line) - 1
	if n < 0 || line[n] != '\n' {
		return nil, malformed("end", "it does not end with a line feed")
	}
	for i, c := range line[:n] {
		if c >= ' ' && c <= '~' {
			continue
		}
		e := malformed("byte", "byte 0x%02x at column %d is not printable ASCII", c, i+1).WithDetail("column", i+1)
		if c == '\r' && i == n-1 {
			e.Message = "reading the signature line: it ends in CR LF, the file has CRLF line ends"
			return nil, withCRLF(e)
		}
		return nil, e
	}
	return line[:n], nil
}

func withCRLF(e *diag.Error) *diag.Error {
	return e.WithDetail("crlf", true).WithReason("signed_crlf")
}

// parseTime reads YYYY-MM-DDTHH:MM:SSZ. A day or hour that does not exist is
// refused, not carried over.
func parseTime(t *time.Time, b []byte) bool {
	for i := range timeLayout {
		digit := timeLayout[i] >= '0' && timeLayout[i] <= '9'
		if digit != (b[i] >= '0' && b[i] <= '9') ||
			!digit && b[i] != timeLayout[i] {
			return false
		}
	}
	num := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			n = n*10 + int(c-'0')
		}
		return n
	}
	*t = time.Date(
		num(0, 4),
		time.Month(num(5, 7)),
		num(8, 10),
		num(11, 13),
		num(14, 16),
		num(17, 19),
		0,
		time.UTC,
	)
	var buf [timeLen]byte
	return bytes.Equal(t.AppendFormat(buf[:0], timeLayout), b)
}
