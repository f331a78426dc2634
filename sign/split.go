package sign

import (
	"bytes"
	"crypto/sha256"

	"github.com/ryeos/rye/diag"
)

// Split is a file divided at its signature line, without copying. Head and Tail
// together are the signed body. If Signed is false there is no signature line,
// and Head ends where it would be.
type Split struct {
	Signed     bool
	Line       Line
	LineNo     int // 1, or 2 after a "#!" line
	Head, Tail []byte

	style string // the name of Line.Style
}

// SplitFile finds the signature line at its only position: line 1, or line 2 if
// line 1 begins with "#!". A file without one is not an error (Signed is false).
// A line that looks like a signature and is not exactly one is SIG_MALFORMED, a
// second one directly after it SIG_MULTIPLE, and one of the earlier format
// LEGACY. With the bare style the file has no signature line, and a line that
// looks like one is SIG_MULTIPLE.
func SplitFile(file []byte, s Style) (Split, error) {
	if err := s.check(); err != nil {
		return Split{}, err
	}
	sp, line := candidate(file)
	if !lookAlike(line) {
		sp.Tail = file[len(sp.Head):]
		return sp, nil
	}
	if s.Detached() {
		return Split{}, multiple("reading a file with a detached signature: line %d looks like an inline one", sp.LineNo)
	}
	l, err := ParseLine(line, s)
	if err != nil {
		return Split{}, atLine(err, sp.LineNo)
	}
	if lookAlike(firstLine(sp.Tail)) {
		return Split{}, multiple("reading the signature line: line %d looks like a second one", sp.LineNo+1)
	}
	// The body determines the position of the line. Otherwise there would be two
	// different files with the same signed body.
	if sp.LineNo == 1 && bytes.HasPrefix(sp.Tail, []byte("#!")) {
		return Split{}, atLine(malformed("position", "it is before the #! line and belongs after it"), 1)
	}
	sp.Signed = true
	sp.Line = l
	sp.style = s.Name
	return sp, nil
}

// candidate returns the line at the position of the signature line, and the parts
// before and after it.
func candidate(file []byte) (Split, []byte) {
	sp := Split{LineNo: 1}
	if bytes.HasPrefix(file, []byte("#!")) {
		sp.Head = firstLine(file)
		sp.LineNo = 2
	}
	line := firstLine(file[len(sp.Head):])
	sp.Tail = file[len(sp.Head)+len(line):]
	if sp.Head == nil {
		sp.Head = file[:0]
	}
	return sp, line
}

// firstLine returns b up to its first line feed, which is included.
func firstLine(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1]
	}
	return b
}

// LooksSigned reports whether a line could be taken for a signature line.
func LooksSigned(line []byte) bool {
	return lookAlike(line)
}

// lookAlike reports whether a reader or a less strict program could mistake a
// line for a signature line: it begins with the letters of a mark, after any
// punctuation, spaces or invisible bytes.
func lookAlike(line []byte) bool {
	for i, c := range line {
		if c >= '0' && c <= '9' ||
			c >= 'A' && c <= 'Z' ||
			c >= 'a' && c <= 'z' {
			return startsWithMark(line[i:])
		}
	}
	return false
}

func startsWithMark(b []byte) bool {
	for _, m := range [...]string{mark, "rye:validated:", "kiwi-mcp:signed:", "kiwi-mcp:validated:"} {
		if len(b) >= len(m) && string(b[:len(m)]) == m {
			return true
		}
	}
	return false
}

func multiple(format string, args ...any) *diag.Error {
	return diag.New(diag.SigMultiple, format, args...)
}

// atLine adds the number of the line to the error.
func atLine(err error, line int) error {
	if e, ok := err.(*diag.Error); ok {
		return e.WithDetail("line", line)
	}
	return err
}

// Size returns the length of the body.
func (sp Split) Size() int {
	return len(sp.Head) + len(sp.Tail)
}

// Digest returns the SHA-256 of the body without building it.
func (sp Split) Digest() [32]byte {
	if len(sp.Head) == 0 {
		return sha256.Sum256(sp.Tail)
	}
	h := sha256.New()
	h.Write(sp.Head)
	h.Write(sp.Tail)
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// Body returns a copy of the body.
func (sp Split) Body() []byte {
	b := make([]byte, 0, sp.Size())
	return append(append(b, sp.Head...), sp.Tail...)
}
