package fs

import (
	"context"
	"path"
	"runtime/debug"
	"strings"

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

// runRead returns lines of a text file, with line_ids each with its id in front. An image, a PDF
// file or a sound, which its content states, is returned as a whole.
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
	r := readResult{Success: true, FilePath: e.Rel, Offset: offset, TotalLines: len(t.Lines), Encoding: t.Encoding}
	r.show(t.Lines, limit, ids)
	return r, nil
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
		Success: true, FilePath: e.Rel, MediaType: ready.From.Type, Bytes: ready.From.Bytes, Width: ready.From.Width, Height: ready.From.Height,
		Content: []media.MCP{media.Content(path.Base(e.Rel), ready)}, Prepared: true,
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
