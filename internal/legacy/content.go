package legacy

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// covered returns the part of a text that was hashed; false if the kind requires
// an element that the text does not have.
func covered(kind, text string) (string, bool) {
	switch kind {
	case "directive":
		from, to, ok := element(text)
		return strip(text[from:to]), ok
	case "knowledge":
		rest := text[knowledgeLine(text):]
		end, ok := frontMatter(rest)
		if !ok {
			return rest, true
		}
		return strip(rest[end:]), true
	}
	text = text[len(shebang(text)):]
	return text[toolMark(text):], true
}

// element finds the text from the first <directive…> to the last </directive>.
func element(text string) (from, to int, ok bool) {
	from = strings.Index(text, "<directive")
	if from < 0 {
		return 0, 0, false
	}
	open := strings.IndexByte(text[from:], '>')
	if open < 0 {
		return 0, 0, false
	}
	const tag = "</directive>"
	to = strings.LastIndex(text[from+open+1:], tag)
	if to < 0 {
		return 0, 0, false
	}
	return from, from + open + 1 + to + len(tag), true
}

// marks returns the possible beginnings of a removed line after the comment
// sign.
func marks() [4]string {
	return [4]string{"rye:signed:", "rye:validated:", "kiwi-mcp:signed:", "kiwi-mcp:validated:"}
}

func cutMark(s, open string) (string, bool) {
	s, ok := strings.CutPrefix(s, open)
	if !ok {
		return "", false
	}
	for _, m := range marks() {
		if rest, ok := strings.CutPrefix(s, m); ok {
			return rest, true
		}
	}
	return "", false
}

// toolMark returns the length, with the line feed, of the line that was left out
// of a tool's hash. Without a line feed nothing was left out.
func toolMark(text string) int {
	rest, ok := cutMark(text, "# ")
	if !ok {
		rest, ok = cutMark(text, "// ")
	}
	end := strings.IndexByte(rest, '\n')
	if !ok || end < 1 {
		return 0
	}
	return len(text) - len(rest) + end + 1
}

// knowledgeLine returns the length of the comment that was left out of the hash
// of knowledge: up to the first ">", which "--" precedes and a line feed follows.
func knowledgeLine(text string) int {
	rest, ok := cutMark(text, "<!-- ")
	end := strings.IndexByte(rest, '>')
	if !ok ||
		end < 3 ||
		rest[end-2:end] != "--" ||
		!strings.HasPrefix(rest[end+1:], "\n") {
		return 0
	}
	return len(text) - len(rest) + end + 2
}

// frontMatter returns the offset of the text after front matter. Any "---" ended
// it, also one inside a value.
func frontMatter(rest string) (int, bool) {
	if !strings.HasPrefix(rest, "---") {
		return 0, false
	}
	end := strings.Index(rest[3:], "---")
	return end + 6, end >= 0
}

// strip removes white space at both ends as Python does, which includes four
// ASCII separators.
func strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
	})
}

// uncovered returns the parts that a valid signature does not cover.
func uncovered(kind, text string, l Line) []Part {
	var out []Part
	add := func(line int, format string, args ...any) {
		out = append(out, Part{line, fmt.Sprintf(format, args...)})
	}
	if l.Provider != "" {
		add(l.Number, "the note |%s@%s", l.Provider, l.User)
	}
	if l.Junk != "" && !inMarkdown(kind) {
		add(l.Number, "the text after the signature on line %d", l.Number)
	}
	switch kind {
	case "directive":
		from, to, _ := element(text)
		first, last, ok := prose(
			text[l.end:max(l.end, from)],
			l.Number,
		)
		if ok {
			add(first, "the text before the XML (%s)", lines(first, last))
		}
		first, last, ok = prose(
			text[to:],
			1+strings.Count(text[:to], "\n"),
		)
		if ok {
			add(first, "the text after the XML (%s)", lines(first, last))
		}
	case "knowledge":
		skip := knowledgeLine(text)
		if end, ok := frontMatter(text[skip:]); ok {
			first := 1 + strings.Count(text[:skip], "\n")
			add(first, "the front matter (%s)", lines(
				first,
				first+strings.Count(text[skip:skip+end], "\n"),
			))
		}
	default:
		if head := shebang(text); head != "" {
			add(1, "the first line, %s", strings.TrimSuffix(head, "\n"))
		}
	}
	return out
}

// prose returns the numbers of the first and last lines with text. The fences
// around the element are not text.
func prose(text string, number int) (first, last int, ok bool) {
	for i, line := range strings.Split(text, "\n") {
		s := strip(line)
		if s == "" ||
			strings.HasPrefix(s, "```") && strings.Trim(s, "`") == "" ||
			s == "```xml" {
			continue
		}
		if !ok {
			first = number + i
			ok = true
		}
		last = number + i
	}
	return first, last, ok
}

func lines(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

// Without returns a file without its signature line. In a tool that is the whole line,
// as the earlier program removed it, with any text after the signature. The other
// bytes stay as they are.
func Without(kind string, file []byte, l Line) []byte {
	start := 0
	for range l.Number - 1 {
		start += lineEnd(file[start:])
	}
	end := start + lineEnd(file[start:])
	if inMarkdown(kind) {
		end = min(l.end, len(file))
		rest := file[end:]
		if len(rest) > 0 && (rest[0] == '\n' || rest[0] == '\r') {
			end += lineEnd(rest)
		}
	}
	return slices.Concat(file[:start], file[end:])
}

// lineEnd returns the length of the first line with its end, which is a line feed, a
// carriage return or both.
func lineEnd(b []byte) int {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return len(b)
	case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
		return i + 2
	}
	return i + 1
}

// Uncovered returns the parts of a file without a signature line that no signature of
// its kind covers.
func Uncovered(kind string, file []byte) []Part {
	return uncovered(kind, universal(string(file)), Line{Number: 1})
}
