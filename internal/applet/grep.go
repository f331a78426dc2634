package applet

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"unicode/utf8"
)

// Limits of grep.
const (
	maxContext  = 20
	maxGrepText = 256 << 10 // bytes of content in all matches together
	grepWindow  = 500       // bytes of a long line shown around its match
)

type grepResult struct {
	Success       bool    `json:"success"`
	Count         int     `json:"count"`
	Truncated     bool    `json:"truncated"`
	FilesSearched int     `json:"files_searched"`
	FilesSkipped  int     `json:"files_skipped"` // binary, too large, or unreadable
	Note          string  `json:"note,omitempty"`
	Matches       []match `json:"matches"`
}

type match struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	LineID  string   `json:"line_id"`
	Before  []string `json:"before,omitempty"`
	Content string   `json:"content"`
	After   []string `json:"after,omitempty"`
}

// search is one run of grep.
type search struct {
	re      *regexp.Regexp
	literal []byte // every match begins with it
	context int
	limit   int
	text    int // bytes of content so far
	out     grepResult
}

// runGrep finds lines by regular expression, always with the engine of this
// package: results do not depend on what is installed.
func runGrep(ctx context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "pattern", "path", "include", "ignore_case", "context", "limit", "ignore")
	s := search{out: grepResult{Success: true, Matches: []match{}}}
	s.re = compileRegexp(a, a.need("pattern"), a.boolean("ignore_case"))
	start := a.str("path", ".")
	s.context = a.integer("context", 0, 0, maxContext)
	s.limit = a.integer("limit", resultLimit, 1, maxResultLimit)
	t := tree{pattern: compilePattern(a, "pattern", "**"), ignore: ignorePatterns(a)}
	include := compilePattern(a, "include", a.str("include", "**"))
	if err := a.err(); err != nil {
		return nil, err
	}
	prefix, _ := s.re.LiteralPrefix()
	s.literal = []byte(prefix)
	done, err := s.open(p, &t, start)
	if done || err != nil {
		return s.out, err
	}
	defer t.dir.Close()
	return s.walk(ctx, &t, include)
}

// open opens the folder to search; a single file is searched at once.
func (s *search) open(p Params, t *tree, start string) (done bool, err error) {
	pr, err := openProject(p)
	if err != nil {
		return false, err
	}
	defer pr.close()
	at, err := pr.find(start)
	if err != nil {
		return false, err
	}
	defer at.close()
	if at.info == nil || at.info.IsDir() {
		return false, t.openAt(at)
	}
	data, err := at.read()
	if err == nil {
		_, err = parseText(start, data) // one file that was named is worth an error
	}
	if err == nil {
		s.file(at.rel, data)
	}
	return true, err
}

func (s *search) walk(ctx context.Context, t *tree, include pattern) (any, error) {
	files, err := t.matching(ctx, ".")
	if err != nil {
		return nil, err
	}
	s.out.Note, s.out.Truncated = t.note(), t.cut
	for _, rel := range files {
		if err := ctx.Err(); err != nil {
			return nil, cancelled("searching files", err)
		}
		if !include.match(rel) {
			continue
		}
		data, err := t.readAll(rel)
		if err != nil || bytes.IndexByte(data, 0) >= 0 {
			s.out.FilesSkipped++
			continue
		}
		if !s.file(path.Join(t.base, rel), data) {
			break
		}
	}
	return s.out, nil
}

// file searches one file and reports whether to go on.
func (s *search) file(rel string, data []byte) bool {
	if !bytes.Contains(data, s.literal) {
		s.out.FilesSearched++
		return true
	}
	t, err := parseText(rel, data)
	if err != nil {
		s.out.FilesSkipped++
		return true
	}
	s.out.FilesSearched++
	var ids []string
	for i, l := range t.lines {
		at := s.re.FindStringIndex(l.text)
		if at == nil {
			continue
		}
		if len(s.out.Matches) == s.limit || s.text > maxGrepText {
			s.out.Truncated = true
			return false
		}
		if ids == nil {
			ids = lineIDs(t.lines)
		}
		s.add(match{File: valid(rel), Line: i + 1, LineID: ids[i], Content: window(l.text, at[0])}, t.lines, i)
	}
	return true
}

func (s *search) add(m match, lines []line, i int) {
	for j := max(0, i-s.context); j < i; j++ {
		m.Before = append(m.Before, window(lines[j].text, 0))
	}
	for j := i + 1; j <= min(len(lines)-1, i+s.context); j++ {
		m.After = append(m.After, window(lines[j].text, 0))
	}
	s.text += len(m.Content)
	for _, c := range append(m.Before, m.After...) {
		s.text += len(c)
	}
	s.out.Matches = append(s.out.Matches, m)
	s.out.Count++
}

// window returns a line, or the part of a long one around byte at.
func window(s string, at int) string {
	if len(s) <= grepWindow {
		return valid(s)
	}
	lo := max(0, min(at-grepWindow/5, len(s)-grepWindow))
	hi := lo + grepWindow
	for lo > 0 && !utf8.RuneStart(s[lo]) && lo > at-grepWindow/5-utf8.UTFMax {
		lo--
	}
	for hi < len(s) && !utf8.RuneStart(s[hi]) && hi > lo {
		hi--
	}
	out := valid(s[lo:hi])
	if lo > 0 {
		out = "…" + out
	}
	if hi < len(s) {
		out += "…"
	}
	return out
}
