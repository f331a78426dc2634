package fs

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/glob"
)

// Limits of grep.
const (
	maxContext  = 20
	maxGrepText = 256 << 10 // bytes of content in all matches
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
	literal []byte // the text that every match begins with
	context int
	limit   int
	text    int // bytes of content so far
	out     grepResult
}

// runGrep finds lines by regular expression. It always uses this engine, so
// results do not depend on the installed programs.
func runGrep(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "pattern", "path", "include", "ignore_case", "context", "limit", "ignore")
	s := search{out: grepResult{Success: true, Matches: []match{}}}
	s.re = compileRegexp(a, a.Required("pattern"), a.Bool("ignore_case"))
	start := a.String("path", ".")
	s.context = a.Int("context", 0, 0, maxContext)
	s.limit = a.Int("limit", resultLimit, 1, maxResultLimit)
	t := tree{pattern: compilePattern(a, "pattern", "**"), ignore: ignorePatterns(a)}
	include := compilePattern(a, "include", a.String("include", "**"))
	if err := a.Err(); err != nil {
		return nil, err
	}
	prefix, _ := s.re.LiteralPrefix()
	s.literal = []byte(prefix)
	defer t.close()
	done, err := s.open(p, &t, start)
	if done || err != nil {
		return s.out, err
	}
	return s.walk(ctx, &t, include)
}

// open opens the directory to search. A single file is searched at once; done
// reports that.
func (s *search) open(p wire.Params, t *tree, start string) (done bool, err error) {
	if err := t.find(p, start); err != nil {
		return false, err
	}
	e := t.start
	if e.Info == nil || e.Info.IsDir() {
		return false, t.openDir()
	}
	data, err := e.Read()
	if err == nil {
		_, err = files.ParseText(start, data) // an error for a file that was named; in a tree it is skipped
	}
	if err == nil {
		s.file(e.Rel, data)
	}
	return true, err
}

func (s *search) walk(ctx context.Context, t *tree, include glob.Pattern) (any, error) {
	found, err := t.matching(ctx, ".")
	if err != nil {
		return nil, err
	}
	s.out.Note = t.note()
	s.out.Truncated = t.cut
	for _, rel := range found {
		if err := ctx.Err(); err != nil {
			return nil, wire.Cancelled("searching files", err)
		}
		if !include.Match(rel) {
			continue
		}
		data, err := files.Read(t.dir, rel, rel)
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

// file searches one file and reports whether to continue.
func (s *search) file(rel string, data []byte) bool {
	if !bytes.Contains(data, s.literal) {
		s.out.FilesSearched++
		return true
	}
	t, err := files.ParseText(rel, data)
	if err != nil {
		s.out.FilesSkipped++
		return true
	}
	s.out.FilesSearched++
	var ids []string
	for i, l := range t.Lines {
		at := s.re.FindStringIndex(l.Text)
		if at == nil {
			continue
		}
		if len(s.out.Matches) == s.limit || s.text > maxGrepText {
			s.out.Truncated = true
			return false
		}
		if ids == nil { // most files have no match, and ids hash every line
			ids = lineIDs(t.Lines)
		}
		s.add(match{
			File:    wire.Valid(rel),
			Line:    i + 1,
			LineID:  ids[i],
			Content: window(l.Text, at[0]),
		}, t.Lines, i)
	}
	return true
}

func (s *search) add(m match, lines []files.Line, i int) {
	for j := max(0, i-s.context); j < i; j++ {
		m.Before = append(m.Before, window(lines[j].Text, 0))
	}
	for j := i + 1; j <= min(len(lines)-1, i+s.context); j++ {
		m.After = append(m.After, window(lines[j].Text, 0))
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
		return wire.Valid(s)
	}
	lo := max(0, min(at-grepWindow/5, len(s)-grepWindow))
	hi := lo + grepWindow
	for lo > 0 && !utf8.RuneStart(s[lo]) && lo > at-grepWindow/5-utf8.UTFMax {
		lo--
	}
	for hi < len(s) && !utf8.RuneStart(s[hi]) && hi > lo {
		hi--
	}
	out := wire.Valid(s[lo:hi])
	if lo > 0 {
		out = "…" + out
	}
	if hi < len(s) {
		out += "…"
	}
	return out
}
