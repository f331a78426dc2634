// Package mdmeta finds the parts of a markdown item: front matter, the fenced
// block with its metadata, and the title. Lines end with "\n" or "\r\n".
//
// It parses no YAML and no XML, and does not render markdown.
package mdmeta

import (
	"bytes"
	"strings"
)

// Block is a fenced block and the text around it.
type Block struct {
	Inner  []byte // the text between the fences
	Line   int    // 1-based line of the inner text's start
	Before []byte // everything before the opening fence line
	After  []byte // everything after the closing fence line
	Closed bool   // false if the file ends inside the block
}

// FrontMatter returns the text between "---" lines at the start of src, after an
// optional signature comment, with the 1-based line where it starts. If the
// closing line is missing, ok is false and line is not zero. Without front
// matter, ok is false, line is zero and body is src.
func FrontMatter(src []byte) (meta []byte, line int, body []byte, ok bool) {
	w := walker{src: src}
	first := w.next()
	if w.line == 1 && isSignature(first) {
		first = w.next()
	}
	if !isRule(first) {
		return nil, 0, src, false
	}
	start := w.off
	line = w.line + 1
	for !w.done() {
		end := w.off
		if isRule(w.next()) {
			return src[start:end], line, src[w.off:], true
		}
	}
	return nil, line, src, false
}

func isRule(line []byte) bool {
	return string(bytes.TrimRight(line, " \t\r")) == "---"
}

func isSignature(line []byte) bool {
	line = bytes.TrimSpace(line)
	for _, mark := range [...]string{"rye:signed:", "rye:validated:", "kiwi-mcp:signed:", "kiwi-mcp:validated:"} { // the last three are in older files
		if bytes.HasPrefix(line, []byte("<!-- "+mark)) {
			return bytes.HasSuffix(line, []byte("-->"))
		}
	}
	return false
}

// Title returns the first level-1 heading outside blocks and its line, or "" and
// 0.
func Title(src []byte) (string, int) {
	for line, text := range prose(src) {
		if title, ok := heading(text); ok {
			return title, line
		}
	}
	return "", 0
}

// heading returns the text of a level-1 heading.
func heading(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "#")
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false
	}
	rest = strings.TrimSpace(rest)
	bare := strings.TrimRight(rest, "#")
	if bare == "" || strings.HasSuffix(bare, " ") {
		rest = strings.TrimSpace(bare)
	}
	return rest, rest != ""
}
