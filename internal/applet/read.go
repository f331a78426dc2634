package applet

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Limits of read.
const (
	readLines    = 2000
	maxReadLines = 10_000
	maxReadText  = 256 << 10
)

type readResult struct {
	Success    bool   `json:"success"`
	FilePath   string `json:"file_path"`
	Offset     int    `json:"offset"`
	LineCount  int    `json:"line_count"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
	Encoding   string `json:"encoding"`
	Output     string `json:"output"`
}

// runRead shows lines of a text file, each with its id in front.
func runRead(_ context.Context, p Params, in map[string]any) (any, error) {
	a := newArgs(in, "file_path", "offset", "limit")
	name := a.need("file_path")
	offset := a.integer("offset", 1, 1, maxFile)
	limit := a.integer("limit", readLines, 1, maxReadLines)
	if err := a.err(); err != nil {
		return nil, err
	}
	rel, t, err := readText(p, name)
	if err != nil {
		return nil, err
	}
	if offset > 1 && offset > len(t.lines) {
		return nil, diag.New(diag.ValidationFailed, "reading %q: offset %d lies behind the end", name, offset).
			WithHint("the file has %d lines", len(t.lines)).WithDetail("total_lines", len(t.lines))
	}
	r := readResult{Success: true, FilePath: rel, Offset: offset, TotalLines: len(t.lines), Encoding: t.encoding}
	r.show(t.lines, limit)
	return r, nil
}

// show renders lines from r.Offset on until limit or maxReadText is reached.
func (r *readResult) show(lines []line, limit int) {
	var b strings.Builder
	ids := lineIDs(lines)
	end := r.Offset - 1
	for ; end < len(lines) && r.LineCount < limit; end++ {
		s, cut := shorten(lines[end].text)
		if b.Len()+len(s) > maxReadText && r.LineCount > 0 {
			break
		}
		r.Truncated = r.Truncated || cut
		if r.LineCount > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[LID:" + ids[end] + "] " + s)
		r.LineCount++
	}
	if end < len(lines) {
		r.Truncated, r.NextOffset = true, end+1
	}
	r.Output = b.String()
}

// readText opens a file of the project and cuts it into lines.
func readText(p Params, name string) (string, text, error) {
	pr, err := openProject(p)
	if err != nil {
		return "", text{}, err
	}
	defer pr.close()
	s, err := pr.find(name)
	if err != nil {
		return "", text{}, err
	}
	defer s.close()
	data, err := s.read()
	if err != nil {
		return "", text{}, err
	}
	t, err := parseText(name, data)
	return s.rel, t, err
}
