package mdmeta

import (
	"bytes"
	"strings"
)

// Fence returns the first fenced block of a language that is not inside a longer
// block or a block of the other fence character. The block ends at the first
// closing fence of at least its length, else at the end of src.
func Fence(src []byte, lang string) (Block, bool) {
	return block(src, lang, noDelay)
}

// DirectiveFence returns the first xml block as Fence does, except that it ends
// at the first closing fence after </directive>: the directive may contain
// fences.
func DirectiveFence(src []byte) (Block, bool) {
	return block(src, "xml", afterDirective)
}

func noDelay([]byte) int { return 0 }

// afterDirective returns the offset after </directive>, or 0.
func afterDirective(inner []byte) int {
	const tag = "</directive"
	for from := 0; ; {
		i := bytes.Index(inner[from:], []byte(tag))
		if i < 0 {
			return 0
		}
		from += i + len(tag)
		rest := bytes.TrimLeft(inner[from:], " \t\r\n")
		if len(rest) > 0 && rest[0] == '>' {
			return len(inner) - len(rest) + 1
		}
	}
}

// block finds the opening fence, then the end. delay returns the offset in the
// inner text from which on a closing fence ends the block.
func block(src []byte, lang string, delay func([]byte) int) (Block, bool) {
	w := walker{src: src}
	outer := fence{}
	for !w.done() {
		start := w.off
		line := w.next()
		f, ok := opening(line)
		switch {
		case outer.closes(line):
			outer = fence{}
		case ok && f.is(lang) && !outer.hides(f):
			b := Block{Line: w.line + 1, Before: src[:start], Inner: src[w.off:]}
			b.end(f, w.off, src, delay(src[w.off:]))
			return b, true
		case ok && outer.length == 0:
			outer = f
		}
	}
	return Block{}, false
}

// end sets Inner and After at the first closing fence at or after inner offset
// from.
func (b *Block) end(f fence, start int, src []byte, from int) {
	w := walker{src: src, off: start}
	for !w.done() {
		at := w.off
		line := w.next()
		if at-start >= from && f.closes(line) {
			b.Inner = src[start:at]
			b.After = src[w.off:]
			b.Closed = true
			return
		}
	}
}

// fence is an opening fence; the zero value means that no block is open.
type fence struct {
	char   byte
	length int
	info   string
}

// opening parses an opening fence: at most three spaces, three or more
// backticks or tildes, an info string without backticks.
func opening(line []byte) (fence, bool) {
	text := string(line)
	trimmed := strings.TrimLeft(text, " ")
	if len(text)-len(trimmed) > 3 ||
		trimmed == "" ||
		trimmed[0] != '`' && trimmed[0] != '~' {
		return fence{}, false
	}
	info := strings.TrimLeft(trimmed, trimmed[:1])
	f := fence{char: trimmed[0], length: len(trimmed) - len(info), info: strings.TrimSpace(info)}
	if f.length < 3 || f.char == '`' && strings.IndexByte(info, '`') >= 0 {
		return fence{}, false
	}
	return f, true
}

// is reports whether the info string begins with the language.
func (f fence) is(lang string) bool {
	first, _, _ := strings.Cut(f.info, " ")
	return strings.EqualFold(first, lang)
}

// closes reports whether the line ends the block that f opened.
func (f fence) closes(line []byte) bool {
	g, ok := opening(line)
	return ok &&
		f.length > 0 &&
		g.char == f.char &&
		g.length >= f.length &&
		g.info == ""
}

// hides reports whether g is text inside the block that f opened. A fence of the
// same length begins a new block: the closing fence of the first is missing.
func (f fence) hides(g fence) bool {
	return f.length > 0 && (f.char != g.char || f.length > g.length)
}
