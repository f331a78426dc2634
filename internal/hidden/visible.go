package hidden

import (
	"fmt"
	"strings"
)

// Visible returns s in a form that is safe on one line of a terminal: hidden
// and control characters, TAB and newlines included, become \u{1b}, invalid
// bytes \x{ff}. Other text, emoji included, stays as it is.
func Visible(s string) string {
	b := []byte(s)
	if plain(b, 0) == len(b) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	var out strings.Builder
	done := 0
	text := func(end int) {
		for _, r := range []byte(s[done:end]) {
			if r < 0x20 { // TAB, LF and the CR before it
				fmt.Fprintf(&out, `\u{%x}`, r)
			} else {
				out.WriteByte(r)
			}
		}
	}
	sc := scanner{b: b}
	sc.walk(0, func(off, size int, r rune, c class, _ bool) {
		text(off)
		if c == classInvalid {
			fmt.Fprintf(&out, `\x{%x}`, s[off])
		} else {
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		done = off + size
	})
	text(len(s))
	v := bom(out.String())
	if done > 0 &&
		plain([]byte(v), 0) < len(v) &&
		len(Scan([]byte(v))) > 0 {
		return Visible(v) // the escaped character was between a joiner and its emoji
	}
	return v
}

// bom escapes a byte order mark at the start, which walk skips.
func bom(s string) string {
	if rest, ok := strings.CutPrefix(s, "\ufeff"); ok {
		return `\u{feff}` + rest
	}
	return s
}
