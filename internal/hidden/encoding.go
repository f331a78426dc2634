package hidden

import (
	"bytes"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Encoding returns ENCODING errors if b is not plain UTF-8 text: one for a byte
// order mark of any UTF, else one for the first NUL and one for the first invalid
// byte.
func Encoding(b []byte) []diag.Finding {
	if name := mark(b); name != "" {
		return []diag.Finding{diag.Errorf(diag.Encoding, 1, 1, "the text begins with a %s byte order mark", name)}
	}
	var out []diag.Finding
	if i := bytes.IndexByte(b, 0); i >= 0 {
		at := Position(b, i)
		out = append(out, diag.Errorf(diag.Encoding, at.Line, at.Column, "the text holds a NUL"))
	}
	if i := invalid(b); i >= 0 {
		at := Position(b, i)
		out = append(out, diag.Errorf(
			diag.Encoding,
			at.Line,
			at.Column,
			"the text is not UTF-8: byte 0x%02X",
			b[i],
		))
	}
	return out
}

func mark(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		return "UTF-8"
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE, 0, 0}),
		bytes.HasPrefix(b, []byte{0, 0, 0xFE, 0xFF}):
		return "UTF-32"
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}),
		bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		return "UTF-16"
	}
	return ""
}

// invalid returns the index of the first byte that is not UTF-8, or -1.
func invalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// Position returns the position of an offset. Lines end with LF.
func Position(b []byte, off int) diag.Position {
	head := b[:min(off, len(b))]
	return diag.Position{Line: bytes.Count(head, []byte{'\n'}) + 1, Column: len(head) - bytes.LastIndexByte(head, '\n')}
}
