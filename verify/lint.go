package verify

import (
	"bytes"
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
)

const symlink = fs.ModeSymlink

func typeName(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	case m&fs.ModeDir != 0:
		return "folder"
	}
	return "special file"
}

// neverCounts warns of a copy of a sealed item, which nothing ever uses.
func neverCounts(it *resolve.Item) []diag.Finding {
	if it.Root.Embedded() || !resolve.Sealed(it.Ref) {
		return nil
	}
	f := diag.Warnf(diag.ConfigError, 0, 0, "%s is sealed: only the system space supplies it, this file never counts", it.Ref)
	f.Fix = "remove the file, or give it another id"
	return []diag.Finding{f}
}

// Limits of the anti-hiding lint: what a reviewer scrolls past.
const (
	MaxBlankLines = 100
	MaxLine       = 20_000 // bytes
)

// lint warns of text that is laid out to stay unseen: long runs of blank lines
// and very long lines.
func lint(b []byte) []diag.Finding {
	var fs []diag.Finding
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
