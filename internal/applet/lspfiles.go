package applet

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// lspFiles turns places as servers count them (from 0, in units of UTF-16) into
// places as people do (from 1, in characters), by the lines of the project's
// files.
type lspFiles struct {
	pr    *project
	known map[string]text // by path below the project
}

// open reads a file of the project and returns its path below it.
func (f *lspFiles) open(name string) (string, error) {
	s, err := f.pr.find(name)
	if err != nil {
		return "", err
	}
	defer s.close()
	if t, ok := f.known[s.rel]; ok && t.lines != nil {
		return s.rel, nil
	}
	data, err := s.read()
	if err != nil {
		return "", err
	}
	t, err := parseText(name, data)
	if err != nil {
		return "", err
	}
	f.known[s.rel] = t
	return s.rel, nil
}

// text is a file without its byte order mark.
func (f *lspFiles) text(rel string) string {
	t := f.known[rel]
	t.prefix = ""
	return string(t.bytes())
}

// uri is the address of the session's file.
func (s *lspSession) uri() string {
	return fileURI(filepath.Join(s.files.pr.real, filepath.FromSlash(s.rel)))
}

func fileURI(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/dir
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// sameURI is one spelling for the ways in which servers escape an address.
func sameURI(uri string) string {
	if name := uriPath(uri); name != "" {
		return fileURI(name)
	}
	return uri
}

// uriPath is the file that an address names, "" for no file.
func uriPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	name := u.Path
	if runtime.GOOS == "windows" && len(name) > 2 && name[0] == '/' && name[2] == ':' {
		name = strings.ToUpper(name[1:2]) + name[2:]
	}
	return filepath.FromSlash(name)
}

// show is a file as people name it: below the project, or in full.
func (f *lspFiles) show(uri string) string {
	name := uriPath(uri)
	if name == "" {
		return uri
	}
	if rel, ok := f.pr.inside(name); ok {
		return strings.TrimPrefix(filepath.ToSlash(rel), "/")
	}
	return filepath.ToSlash(name)
}

// line returns a line of a file of the project, from 0; ok is false for others.
func (f *lspFiles) line(shown string, n int) (string, bool) {
	if filepath.IsAbs(filepath.FromSlash(shown)) || strings.Contains(shown, "://") {
		return "", false
	}
	t, known := f.known[shown]
	if !known && len(f.known) < 500 {
		if rel, err := f.open(shown); err == nil {
			t, known = f.known[rel], true
		}
		f.known[shown] = t
	}
	if !known || n < 0 || n >= len(t.lines) {
		return "", false
	}
	return t.lines[n].text, true
}

// column turns a place of a server in a line into characters, from 1.
func column(line string, ok bool, units int) int {
	if !ok {
		return units + 1
	}
	n := 1
	for _, r := range line {
		if units <= 0 {
			break
		}
		units -= utf16Len(r)
		n++
	}
	return n
}

// units turns characters, from 1, into a place for a server.
func units(line string, column int) int {
	n := 0
	for _, r := range line {
		if column--; column <= 0 {
			break
		}
		n += utf16Len(r)
	}
	return n
}

func utf16Len(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// maxTries is how many places of a word a server is asked about.
const maxTries = 20

// positions are where the caller may point: a line and column, or each place of
// a word, which may stand in a comment before it stands in code.
func (s *lspSession) positions() ([]lspPosition, error) {
	lines := s.files.known[s.rel].lines
	c := s.call
	if c.line > len(lines) {
		return nil, diag.New(diag.ValidationFailed, "finding the place in %q: it has %d lines, not %d", c.file, len(lines), c.line)
	}
	if c.line > 0 && c.column > 0 {
		at := lines[c.line-1].text
		if n := utf8.RuneCountInString(at); c.column > n+1 {
			return nil, diag.New(diag.ValidationFailed, "finding the place in %q: line %d has %d characters, not %d", c.file, c.line, n, c.column)
		}
		return []lspPosition{{c.line - 1, units(at, c.column)}}, nil
	}
	var out []lspPosition
	for i, l := range lines {
		if at := wordIn(l.text, c.symbol); at >= 0 && (c.line == 0 || i == c.line-1) && len(out) < maxTries {
			out = append(out, lspPosition{i, units(l.text, utf8.RuneCountInString(l.text[:at])+1)})
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	return nil, diag.New(diag.ValidationFailed, "finding the place in %q: the word %q does not stand there", c.file, c.symbol).
		WithHint("give line and column, or a word as it stands in the file")
}

// wordIn returns where a word stands by itself, -1 when it does not.
func wordIn(line, word string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return -1
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[i+len(word):])
		if !wordRune(before) && !wordRune(after) {
			return i
		}
		from = i + len(word)
	}
}

func wordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
