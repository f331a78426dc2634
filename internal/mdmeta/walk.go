package mdmeta

import (
	"bytes"
	"iter"
	"strings"
)

// walker iterates over lines.
type walker struct {
	src  []byte
	off  int // where the next line starts
	line int // number of the last line returned
}

func (w *walker) done() bool {
	return w.off >= len(w.src)
}

// next returns the next line without its end.
func (w *walker) next() []byte {
	rest := w.src[w.off:]
	w.line++
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		w.off = len(w.src)
		return bytes.TrimSuffix(rest, []byte("\r"))
	}
	w.off += n + 1
	return bytes.TrimSuffix(rest[:n], []byte("\r"))
}

// prose yields the lines outside front matter, fenced blocks and comments that
// begin a line, with their numbers.
func prose(src []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		w := walker{src: src}
		if _, _, body, ok := FrontMatter(src); ok {
			w.off = len(src) - len(body)
			w.line = bytes.Count(src[:w.off], []byte("\n"))
		}
		outer := fence{}
		comment := false
		for !w.done() {
			line := w.next()
			text := strings.TrimLeft(string(line), " \t")
			f, opens := opening(line)
			switch {
			case outer.length > 0:
				if outer.closes(line) {
					outer = fence{}
				}
			case comment || strings.HasPrefix(text, "<!--"):
				comment = !strings.Contains(text, "-->")
			case opens:
				outer = f
			case !yield(w.line, text):
				return
			}
		}
	}
}
