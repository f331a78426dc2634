package hidden

import (
	"bytes"

	"github.com/ryeos/rye/diag"
)

// Limits of Layout: a reviewer is unlikely to read text beyond them.
const (
	MaxBlankLines = 100
	MaxLine       = 20_000  // bytes
	MaxText       = 1 << 20 // bytes
)

// Layout returns warnings for a layout that hides text: long runs of blank lines,
// very long lines, and words that mix look-alike letters.
func Layout(b []byte) []diag.Finding {
	fs := MixedWords(b)
	blank := 0
	line := 0
	for len(b) > 0 {
		line++
		text, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		if len(text) > MaxLine {
			fs = append(fs, diag.Warnf(diag.HiddenChars, line, 1, "this line has %d bytes: its end is easily overlooked", len(text)))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			blank++
			continue
		}
		if blank > MaxBlankLines {
			fs = append(fs, diag.Warnf(diag.HiddenChars, line, 1, "%d blank lines precede this line: it is easily overlooked", blank))
		}
		blank = 0
	}
	return fs
}
