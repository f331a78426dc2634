package fs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

// Limits of write.
const (
	maxBatch      = 1000
	maxBatchBytes = 64 << 20
	maxDiff       = 51_200
)

type writeResult struct {
	Success      bool        `json:"success"`
	FilePath     string      `json:"file_path,omitempty"`
	BytesWritten int         `json:"bytes_written"`
	Created      *bool       `json:"created,omitempty"`
	FilesWritten int         `json:"files_written,omitempty"`
	Results      []wroteFile `json:"results,omitempty"`
	Output       string      `json:"output"`
}

type wroteFile struct {
	FilePath     string `json:"file_path"`
	BytesWritten int    `json:"bytes_written"`
	Created      bool   `json:"created"`
}

// content is one file that the caller wants written.
type content struct{ name, data string }

// runWrite replaces or creates whole files: one, or a batch.
func runWrite(ctx context.Context, p wire.Params, in map[string]any) (any, error) {
	contents, single, err := decodeWrite(in)
	if err != nil {
		return nil, err
	}
	b, err := openBatch(p)
	if err != nil {
		return nil, err
	}
	defer b.close()
	if err := b.write(ctx, contents); err != nil {
		return nil, err
	}
	return b.result(single), nil
}

func decodeWrite(in map[string]any) (contents []content, single bool, err error) {
	a := wire.NewArgs(in, "file_path", "content", "files")
	single = !a.Has("files")
	if single {
		contents = []content{{a.Required("file_path"), a.Text("content")}}
	} else {
		if a.Has("file_path") || a.Has("content") {
			a.Reject("files", "excludes file_path and content")
		}
		for _, f := range a.Objects("files", "file_path", "content") {
			contents = append(contents, content{f.Required("file_path"), f.Text("content")})
		}
	}
	checkSizes(a, contents)
	return contents, single, a.Err()
}

func checkSizes(a wire.Args, contents []content) {
	total := 0
	for _, c := range contents {
		total += len(c.data)
		if len(c.data) > files.MaxSize {
			a.Reject("content", "of %q has %d bytes, more than %d", c.name, len(c.data), files.MaxSize)
		}
	}
	switch {
	case len(contents) == 0:
		a.Reject("files", "must list at least one file")
	case len(contents) > maxBatch:
		a.Reject("files", "lists %d files, more than %d", len(contents), maxBatch)
	case total > maxBatchBytes:
		a.Reject("files", "has %d bytes of content, more than %d", total, maxBatchBytes)
	}
}

// batch writes several files in one step. Every path is checked and every
// content is on disk before the first rename, so a refusal changes nothing.
type batch struct {
	project *files.Project
	entries []*files.Entry
	staged  []*staged
}

// openBatch opens the project for a batch. The caller closes the batch.
func openBatch(p wire.Params) (*batch, error) {
	project, err := files.Open(p)
	if err != nil {
		return nil, err
	}
	return &batch{project: project}, nil
}

func (b *batch) close() {
	for _, st := range b.staged {
		st.drop()
	}
	for _, e := range b.entries {
		e.Close()
	}
	b.project.Close()
}

func (b *batch) write(ctx context.Context, contents []content) error {
	if err := b.check(contents); err != nil {
		return err
	}
	for i, c := range contents {
		if err := ctx.Err(); err != nil {
			return wire.Cancelled("writing", err)
		}
		err := b.stage(b.entries[i], c)
		if err != nil {
			return err
		}
	}
	return b.commit()
}

// check resolves every path and collects the problems of all.
func (b *batch) check(contents []content) error {
	var findings []diag.Finding
	var rels []string
	var errs []error
	for _, c := range contents {
		e, err := b.project.Find(c.name)
		if err == nil {
			b.entries = append(b.entries, e)
			rels = append(rels, e.Rel)
			err = checkWritable(e)
		}
		if err != nil {
			errs = append(errs, err)
			findings = append(findings, diag.Errorf(diag.CodeOf(err), 0, 0, "%s", err))
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	one, other, found := conflict(rels)
	if found && len(errs) == 0 {
		return diag.New(diag.ValidationFailed, "writing files: %q and %q are the same file, or one is inside the other", one, other)
	}
	return diag.FromFindings("writing files", findings)
}

// stage keeps the old content for the diff only.
func (b *batch) stage(e *files.Entry, c content) error {
	old, err := oldContent(e)
	if err != nil {
		return err
	}
	st, err := stage(e, old, []byte(c.data))
	if err == nil {
		b.staged = append(b.staged, st)
	}
	return err
}

// oldContent returns the content that write replaces, nil without one. It is nil as well for a
// file that is too large to read: that can still be replaced.
func oldContent(e *files.Entry) ([]byte, error) {
	if e.Info == nil || e.Info.Size() > files.MaxSize {
		return nil, nil
	}
	return e.Read()
}

// commit renames one file after another. If one fails, the error lists the
// files that were written.
func (b *batch) commit() error {
	var done []string
	for _, st := range b.staged {
		if err := st.commit(); err != nil {
			var e *diag.Error
			if errors.As(err, &e) && len(done) > 0 {
				return e.WithDetail("files_written", done)
			}
			return err
		}
		done = append(done, st.entry.Rel)
	}
	return nil
}

func (b *batch) result(single bool) writeResult {
	r := writeResult{Success: true}
	var out strings.Builder
	for _, st := range b.staged {
		r.BytesWritten += len(st.new)
		r.Results = append(r.Results, wroteFile{st.entry.Rel, len(st.new), st.created})
		out.WriteString(st.change().Diff())
	}
	r.Output = cutLines(out.String(), maxDiff)
	if single {
		r.FilePath = r.Results[0].FilePath
		r.Created = &r.Results[0].Created
		r.Results = nil
		return r
	}
	r.FilesWritten = len(r.Results)
	return r
}

// cutLines returns the first lines of s, at most limit bytes, and the number of
// lines that are missing.
func cutLines(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := s[:limit]
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	return wire.Valid(head) + fmt.Sprintf("… [%d more lines]\n", strings.Count(s[len(head):], "\n"))
}
