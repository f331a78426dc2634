package linediff

import (
	"fmt"
	"strings"
)

// hunk is a run of changes that share their context.
type hunk []change

// hunks groups changes whose contexts would meet.
func hunks(cs []change) []hunk {
	var hs []hunk
	for i, c := range cs {
		if i > 0 && c.aLo-cs[i-1].aHi <= 2*context {
			hs[len(hs)-1] = append(hs[len(hs)-1], c)
		} else {
			hs = append(hs, hunk{c})
		}
	}
	return hs
}

func (h hunk) write(out *strings.Builder, a, b []string) {
	first, last := h[0], h[len(h)-1]
	before := min(context, first.aLo)
	after := min(context, len(a)-last.aHi)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		span(first.aLo-before, last.aHi+after), span(first.bLo-before, last.bHi+after))
	at := first.aLo - before
	for _, c := range h {
		writeLines(out, ' ', a[at:c.aLo])
		writeLines(out, '-', a[c.aLo:c.aHi])
		writeLines(out, '+', b[c.bLo:c.bHi])
		at = c.aHi
	}
	writeLines(out, ' ', a[at:last.aHi+after])
}

// span renders the half-open lines [lo,hi) as "start,count", counted from 1;
// an empty span names the line before it.
func span(lo, hi int) string {
	switch hi - lo {
	case 0:
		return fmt.Sprintf("%d,0", lo)
	case 1:
		return fmt.Sprintf("%d", lo+1)
	}
	return fmt.Sprintf("%d,%d", lo+1, hi-lo)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, l := range lines {
		out.WriteByte(mark)
		out.WriteString(l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
