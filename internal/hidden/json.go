package hidden

import (
	"bytes"
	"fmt"
)

// JSON returns an equal JSON document in which hidden and control characters are
// written as \uXXXX, so that it is safe to show. It returns b itself if it has none.
// The bytes of b must be valid JSON.
func JSON(b []byte) []byte {
	for {
		out := escapeJSON(b)
		if bytes.Equal(out, b) {
			return b
		}
		b = out // what was ordinary next to an escaped character may not be now
	}
}

func escapeJSON(b []byte) []byte {
	start := plain(b, 0)
	if start == len(b) {
		return b
	}
	out := bytes.NewBuffer(make([]byte, 0, len(b)))
	done := 0
	s := scanner{b: b}
	s.walk(start, func(off, size int, r rune, c class, _ bool) {
		if c == classInvalid || r == '\r' { // not in a string of JSON
			return
		}
		out.Write(b[done:off])
		done = off + size
		if r >= 0x10000 {
			fmt.Fprintf(
				out,
				`\u%04x\u%04x`,
				0xD800+(r-0x10000)>>10,
				0xDC00+(r-0x10000)&0x3FF,
			)
		} else {
			fmt.Fprintf(out, `\u%04x`, r)
		}
	})
	out.Write(b[done:])
	return out.Bytes()
}
