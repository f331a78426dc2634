package hidden

import (
	"bytes"

	"github.com/ryeos/rye/diag"
)

// Limits of the anti-hiding lint: what a reviewer scrolls past.
const (
	MaxBlankLines = 100
	MaxLine       = 20_000  // bytes
	MaxText       = 1 << 20 // bytes
)

// Layout warns of text that is laid out to stay unseen: long runs of blank lines
// and very long lines, and of words that mix look-alike letters.
func Layout(b []byte) []diag.Finding {
	fs := MixedWords(b)
	blank, line := 0, 0
	for len(b) > 0 {
		line++
		text, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		if len(text) > MaxLine {
			fs = append(fs, diag.Warnf(diag.HiddenChars, line, 1, "this line has %d bytes: what stands at its end is easily overlooked", len(text)))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			blank++
			continue
		}
		if blank > MaxBlankLines {
			fs = append(fs, diag.Warnf(diag.HiddenChars, line, 1, "%d blank lines stand before this line: it is easily overlooked", blank))
		}
		blank = 0
	}
	return fs
}
