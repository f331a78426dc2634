package fs

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/media"
)

// Limits of read.
const (
	readLines    = 2000
	maxReadLines = 10_000
	maxReadText  = 256 << 10 // bytes
	maxPiece     = 32 << 10  // bytes of a part of one line
)

type readResult struct {
	Success    bool   `json:"success"`
	FilePath   string `json:"file_path"`
	Offset     int    `json:"offset"`
	LineCount  int    `json:"line_count"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
	Column     int    `json:"column,omitempty"` // of a part of one line
	NextColumn int    `json:"next_column,omitempty"`
	LineLength int    `json:"line_length,omitempty"` // characters
	Encoding   string `json:"encoding"`
	Output     string `json:"output"`
}

// mediaResult is the result for an image, a PDF file or a sound: its content as blocks of MCP
// content. Prepared states that images are decoded and within the limits of package media.
type mediaResult struct {
	Success   bool        `json:"success"`
	FilePath  string      `json:"file_path"`
	MediaType string      `json:"media_type"`
	Bytes     int         `json:"bytes"`
	Width     int         `json:"width,omitempty"`
	Height    int         `json:"height,omitempty"`
	Content   []media.MCP `json:"content"`
	Prepared  bool        `json:"prepared"`
}

// runRead returns lines of a text file, with line_ids each with its id in front, or with a column a part
// of one line, which a line that was shortened needs. An image, a PDF
// file or a sound, which its content states, is returned as a whole.
func runRead(_ context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "file_path", "offset", "limit", "column", "line_ids")
	name := a.Required("file_path")
	offset := a.Int("offset", 1, 1, files.MaxSize)
	limit := a.Int("limit", readLines, 1, maxReadLines)
	column := a.Int("column", 1, 1, files.MaxSize)
	ids := a.Bool("line_ids")
	if err := a.Err(); err != nil {
		return nil, err
	}
	e, err := find(p, name)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	data, err := e.ReadWithin(sizeLimit)
	if err != nil {
		return nil, err
	}
	if media.Recognise(data) != "" {
		return readMedia(p, e, data)
	}
	t, err := files.ParseText(e.Given, data)
	if err != nil {
		return nil, err
	}
	if offset > 1 && offset > len(t.Lines) {
		return nil, diag.New(diag.ValidationFailed, "reading %q: offset %d is beyond the end; the file has %d lines", name, offset, len(t.Lines)).
			WithDetail("total_lines", len(t.Lines))
	}
	r := readResult{
		Success:    true,
		FilePath:   e.Rel,
		Offset:     offset,
		TotalLines: len(t.Lines),
		Encoding:   t.Encoding,
	}
	if column > 1 {
		return r, r.showPart(t.Lines, column)
	}
	r.show(t.Lines, limit, ids)
	return r, nil
}

// showPart renders the line at r.Offset from a column on. The first character has column 1.
func (r *readResult) showPart(lines []files.Line, column int) error {
	line := ""
	if r.Offset <= len(lines) {
		line = wire.Valid(lines[r.Offset-1].Text)
	}
	r.LineLength = utf8.RuneCountInString(line)
	if column > r.LineLength {
		return diag.New(diag.ValidationFailed, "reading %q: column %d is beyond the end; line %d has %d characters", r.FilePath, column, r.Offset, r.LineLength).
			WithDetail("line_length", r.LineLength)
	}
	start := 0
	at := 1
	for i := range line {
		if start = i; at == column {
			break
		}
		at++
	}
	rest := line[start:]
	end := min(len(rest), maxPiece)
	for end < len(rest) && !utf8.RuneStart(rest[end]) {
		end--
	}
	r.Output = rest[:end]
	r.LineCount = 1
	r.Column = column
	switch {
	case end < len(rest):
		r.Truncated = true
		r.NextColumn = column + utf8.RuneCountInString(r.Output)
	case r.Offset < len(lines):
		r.Truncated = true
		r.NextOffset = r.Offset + 1
	}
	return nil
}

// sizeLimit returns the size of the largest file that is read, by its beginning.
func sizeLimit(head []byte) int64 {
	if media.IsImage(media.Recognise(head)) {
		return media.MaxImageBytes
	}
	return files.MaxSize
}

// readMedia returns a file that is not a text. Decoding an image takes memory, and decoders have
// errors: this needs a process of its own, in the sandbox.
func readMedia(p wire.Params, e *files.Entry, data []byte) (any, error) {
	if p.Here {
		return nil, wire.ErrOwnProcess
	}
	debug.SetMemoryLimit(media.MemoryLimit)
	ready, err := media.ForModel(e.Given, data)
	if err != nil {
		return nil, err
	}
	return mediaResult{
		Success:   true,
		FilePath:  e.Rel,
		MediaType: ready.From.Type,
		Bytes:     ready.From.Bytes,
		Width:     ready.From.Width,
		Height:    ready.From.Height,
		Content:   []media.MCP{media.Content(path.Base(e.Rel), ready)},
		Prepared:  true,
	}, nil
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
		if cut {
			r.Truncated = true
			s = strings.TrimSuffix(s, "]") + fmt.Sprintf(": offset %d with column %d reads on]", end+1, files.MaxLine+1)
		}
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
