package fs

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Limits of read.
const (
	readLines    = 2000
	maxReadLines = 10_000
	maxReadText  = 256 << 10 // bytes
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

// runRead returns lines of a text file, with line_ids each with its id in front.
func runRead(_ context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "file_path", "offset", "limit", "line_ids")
	name := a.Required("file_path")
	offset := a.Int("offset", 1, 1, files.MaxSize)
	limit := a.Int("limit", readLines, 1, maxReadLines)
	ids := a.Bool("line_ids")
	if err := a.Err(); err != nil {
		return nil, err
	}
	e, err := find(p, name)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	t, err := e.ReadText()
	if err != nil {
		return nil, err
	}
	if offset > 1 && offset > len(t.Lines) {
		return nil, diag.New(diag.ValidationFailed, "reading %q: offset %d is beyond the end; the file has %d lines", name, offset, len(t.Lines)).
			WithDetail("total_lines", len(t.Lines))
	}
	r := readResult{Success: true, FilePath: e.Rel, Offset: offset, TotalLines: len(t.Lines), Encoding: t.Encoding}
	r.show(t.Lines, limit, ids)
	return r, nil
}

// show renders lines from r.Offset on until limit or maxReadText is reached.
func (r *readResult) show(lines []files.Line, limit int, withIDs bool) {
	var b strings.Builder
	var ids []string
	if withIDs {
		ids = lineIDs(lines)
	}
	end := r.Offset - 1
	for ; end < len(lines) && r.LineCount < limit; end++ {
		s, cut := files.Shorten(lines[end].Text)
		if b.Len()+len(s) > maxReadText && r.LineCount > 0 {
			break
		}
		r.Truncated = r.Truncated || cut
		if r.LineCount > 0 {
			b.WriteByte('\n')
		}
		if withIDs {
			b.WriteString("[LID:" + ids[end] + "] ")
		}
		b.WriteString(s)
		r.LineCount++
	}
	if end < len(lines) {
		r.Truncated = true
		r.NextOffset = end + 1
	}
	r.Output = b.String()
}
