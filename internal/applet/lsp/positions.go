package lsp

import (
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
)

// positions converts the positions of servers (from 0, in UTF-16 units) to positions of
// results (from 1, in characters). It reads the lines of the project's files for that.
type positions struct {
	project *files.Project
	known   map[string]files.Text // by path below the project; without lines if unreadable
}

// maxKnown is the number of files that are read for their lines.
const maxKnown = 500

// open reads a file of the project and returns its path below it.
func (f *positions) open(name string) (string, error) {
	e, err := f.project.Find(name)
	if err != nil {
		return "", err
	}
	defer e.Close()
	t, ok := f.known[e.Rel]
	if ok && t.Lines != nil {
		return e.Rel, nil
	}
	t, err = e.ReadText()
	if err != nil {
		return "", err
	}
	f.known[e.Rel] = t
	return e.Rel, nil
}

// text returns a file without its byte order mark.
func (f *positions) text(rel string) string {
	t := f.known[rel]
	t.Prefix = ""
	return string(t.Bytes())
}

// workspace returns the nearest directory above a file that contains one of the
// names, or the project.
func (f *positions) workspace(rel string, names []string) string {
	for dir := path.Dir(rel); rel != ""; dir = path.Dir(dir) {
		for _, name := range names {
			if f.project.Exists(path.Join(dir, name)) {
				return f.project.Path(dir)
			}
		}
		if dir == "." {
			break
		}
	}
	return f.project.Path(".")
}

// uri returns the URI of the session's file.
func (s *session) uri() string {
	return fileURI(s.files.project.Path(s.rel))
}

func fileURI(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name // C:/dir
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}

// normalURI returns one spelling of a URI: servers escape it differently.
func normalURI(uri string) string {
	if name := uriPath(uri); name != "" {
		return fileURI(name)
	}
	return uri
}

// uriPath returns the path of a file URI, "" for other URIs.
func uriPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	name := u.Path
	if runtime.GOOS == "windows" &&
		len(name) > 2 &&
		name[0] == '/' &&
		name[2] == ':' {
		name = strings.ToUpper(name[1:2]) + name[2:]
	}
	return filepath.FromSlash(name)
}

// display returns a file's path below the project, or its full path or URI if
// it is elsewhere.
func (f *positions) display(uri string) string {
	name := uriPath(uri)
	if name == "" {
		return uri
	}
	if rel, ok := f.project.Rel(name); ok {
		return strings.TrimPrefix(filepath.ToSlash(rel), "/")
	}
	return filepath.ToSlash(name)
}

// line returns line n, from 0, of a file of the project. ok is false for other
// files.
func (f *positions) line(name string, n int) (line string, ok bool) {
	if filepath.IsAbs(filepath.FromSlash(name)) || strings.Contains(name, "://") {
		return "", false
	}
	t, known := f.known[name]
	if !known && len(f.known) < maxKnown {
		if rel, err := f.open(name); err == nil {
			t = f.known[rel]
			known = true
		}
		f.known[name] = t
	}
	if !known || n < 0 || n >= len(t.Lines) {
		return "", false
	}
	return t.Lines[n].Text, true
}

// column converts UTF-16 units to a column in characters, from 1. If the line
// is not known, the column is in units.
func column(line string, known bool, units int) int {
	if !known {
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

// units converts a column in characters, from 1, to UTF-16 units.
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

// maxTries is the number of occurrences of a symbol that a server is asked
// about.
const maxTries = 20

// targets returns the positions that the caller means: a line and column, or
// each occurrence of a symbol. The first occurrence may be in a comment, about
// which a server has no answer.
func (s *session) targets() ([]position, error) {
	lines := s.files.known[s.rel].Lines
	c := s.call
	if c.line > len(lines) {
		return nil, diag.New(diag.ValidationFailed, "finding the position in %q: it has %d lines, not %d", c.file, len(lines), c.line)
	}
	if c.line > 0 && c.column > 0 {
		at := lines[c.line-1].Text
		if n := utf8.RuneCountInString(at); c.column > n+1 {
			return nil, diag.New(diag.ValidationFailed, "finding the position in %q: line %d has %d characters, not %d", c.file, c.line, n, c.column)
		}
		return []position{{c.line - 1, units(at, c.column)}}, nil
	}
	var out []position
	for i, l := range lines {
		at := wordIn(l.Text, c.symbol)
		if at >= 0 &&
			(c.line == 0 || i == c.line-1) &&
			len(out) < maxTries {
			out = append(out, position{i, units(
				l.Text,
				utf8.RuneCountInString(l.Text[:at])+1,
			)})
		}
	}
	if len(out) == 0 {
		return nil, diag.New(diag.ValidationFailed, "finding the position in %q: the file does not contain the word %q", c.file, c.symbol)
	}
	return out, nil
}

// wordIn returns the index of the first occurrence of word that is not part of
// a longer word, or -1.
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
