package lock

import (
	"iter"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
)

// This file contains the syntax of a lock, without its meaning: a head and entries
// with fields. Parsing and rendering share it.

// record is the head, or one entry.
type record struct {
	kind, name string // of an entry, for example bundle and its id
	line       int
	fields     []field
	stray      []field // lines that are not fields
}

// field is one line "key: value". A value is a sequence of words, or a list of them.
type field struct {
	key   string
	raw   string // the text of the value
	list  bool
	words [][]string // one element for a plain value
	at    diag.Position
	fault string // the error in the value, or ""
}

// wordField returns a field that is not a list.
func wordField(key string, words ...string) field {
	return field{key: key, words: [][]string{words}}
}

// append renders a record.
func (r record) append(b []byte) []byte {
	indent := ""
	if r.kind != "" {
		b = append(append(append(b, "\n- "...), r.kind...), ": "...)
		b = append(appendWord(b, r.name), '\n')
		indent = "  "
	}
	for _, f := range r.fields {
		b = append(append(append(b, indent...), f.key...), ": "...)
		b = append(f.append(b), '\n')
	}
	return b
}

func (f field) append(b []byte) []byte {
	if f.words == nil && !f.list {
		return append(b, f.raw...)
	}
	if f.list {
		b = append(b, '[')
	}
	for i, words := range f.words {
		if i > 0 {
			b = append(b, ", "...)
		}
		for j, w := range words {
			if j > 0 {
				b = append(b, ' ')
			}
			b = appendWord(b, w)
		}
	}
	if f.list {
		b = append(b, ']')
	}
	return b
}

// appendWord writes a word, quoted in ASCII unless every byte is plain.
func appendWord(b []byte, s string) []byte {
	if s != "" && plainPrefix(s) == len(s) {
		return append(b, s...)
	}
	return strconv.AppendQuoteToASCII(b, s)
}

// plainPrefix returns the number of bytes at the start of s that need no quotes.
func plainPrefix[T string | []byte](s T) int {
	for i := 0; i < len(s); i++ {
		if !plain(s[i]) {
			return i
		}
	}
	return len(s)
}

// plain reports whether a byte needs no quotes.
func plain(c byte) bool {
	switch c {
	case '_', '-', '.', '/', ':', '@', '+', '=', '~', '*', '!':
		return true
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// scanValue reads the value of a field.
func (f *field) scanValue() {
	s := f.raw
	if rest, ok := strings.CutPrefix(s, "["); ok {
		f.list = true
		f.words = [][]string{}
		if rest == "]" {
			return
		}
		s = rest
	}
	for {
		words, rest, fault := scanWords(s)
		if fault != "" {
			f.fault = fault
			return
		}
		f.words = append(f.words, words)
		switch {
		case !f.list && rest == "", f.list && rest == "]":
			return
		case f.list && strings.HasPrefix(rest, ", "):
			s = rest[2:]
		default:
			f.fault = "unexpected " + strconv.Quote(clip(rest))
			if rest == "" {
				f.fault = `the list does not end in "]"`
			}
			return
		}
	}
}

func clip(s string) string {
	return cuttext.Start(s, 20)
}

// scanWords reads words that are separated by one space.
func scanWords(s string) (words []string, rest, fault string) {
	for {
		var w string
		if strings.HasPrefix(s, `"`) {
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, "", "a quoted word has no end"
			}
			w, _ = strconv.Unquote(q)
			s = s[len(q):]
		} else {
			n := plainPrefix(s)
			w = s[:n]
			s = s[n:]
			if n == 0 {
				return nil, "", "a value is missing or begins with " + strconv.Quote(clip(s))
			}
		}
		words = append(words, w)
		if !strings.HasPrefix(s, " ") {
			return words, s, ""
		}
		s = s[1:]
	}
}

// entryStart is the start of an entry, with the line end before it.
const entryStart = "\n- "

// entryText is the text of the head, or of one entry that begins with entryStart.
type entryText struct {
	text  string
	start int // its position in the file
	line  int // of the line end before an entry; 1 for the head
}

// entryTexts returns the texts of the head and of the entries. Together they are the file.
func entryTexts(text string) iter.Seq[entryText] {
	return func(yield func(entryText) bool) {
		e := entryText{line: 1}
		for e.start < len(text) {
			rest := text[e.start:]
			if n := strings.Index(rest[1:], entryStart); n >= 0 {
				rest = rest[:1+n]
			}
			e.text = rest
			if !yield(e) {
				return
			}
			e.start += len(rest)
			e.line += strings.Count(rest, "\n")
		}
	}
}

// name returns the record of an entry without its fields, empty for the head.
func (e entryText) name() record {
	entry, ok := strings.CutPrefix(e.text, entryStart)
	if !ok {
		return record{}
	}
	first, _, _ := strings.Cut(entry, "\n")
	return entryRecord(first, e.line+1)
}

// scanRecord reads the record of a head or an entry.
func scanRecord(text string, line int) record {
	r := record{line: line}
	if entry, ok := strings.CutPrefix(text, entryStart); ok {
		first, rest, _ := strings.Cut(entry, "\n")
		line++
		r = entryRecord(first, line)
		line++
		text = rest
	}
	for s := range strings.Lines(text) {
		r.scanLine(strings.TrimSuffix(s, "\n"), line)
		line++
	}
	return r
}

// entryRecord begins an entry.
func entryRecord(entry string, n int) record {
	f := scanField(entry, n, 3)
	r := record{kind: f.key, line: n}
	if f.fault == "" &&
		!f.list &&
		len(f.words) == 1 &&
		len(f.words[0]) == 1 {
		r.name = f.words[0][0]
		return r
	}
	f.fault = `want "- kind: name"`
	r.stray = append(r.stray, f)
	return r
}

func (r *record) scanLine(line string, n int) {
	switch {
	case line == "":
	case r.kind == "" && line[0] != ' ':
		r.add(scanField(line, n, 1))
	case r.kind != "" && strings.HasPrefix(line, "  ") && len(line) > 2 && line[2] != ' ':
		r.add(scanField(line[2:], n, 3))
	default:
		r.stray = append(r.stray, field{at: diag.Position{Line: n, Column: 1}, fault: "the line is not a field or an entry"})
	}
}

func (r *record) add(f field) {
	if f.key == "" {
		r.stray = append(r.stray, f)
		return
	}
	r.fields = append(r.fields, f)
}

func scanField(s string, line, col int) field {
	key, raw, ok := strings.Cut(s, ": ")
	if !ok || !isKey(key) {
		return field{at: diag.Position{Line: line, Column: col}, fault: `want "key: value"`}
	}
	f := field{key: key, raw: raw, at: diag.Position{Line: line, Column: col}}
	f.scanValue()
	return f
}

// isKey reports whether s is the key of a field: lower-case letters and hyphens.
func isKey(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < 'a' || s[i] > 'z') && s[i] != '-' {
			return false
		}
	}
	return s != ""
}
