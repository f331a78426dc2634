package applet

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/linediff"
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

// content is one file as the caller wants it.
type content struct{ name, data string }

// runWrite replaces or creates whole files: one, or a batch.
func runWrite(ctx context.Context, p Params, in map[string]any) (any, error) {
	files, single, err := writeParams(in)
	if err != nil {
		return nil, err
	}
	pr, err := openProject(p)
	if err != nil {
		return nil, err
	}
	defer pr.close()
	b := batch{pr: pr}
	defer b.close()
	if err := b.write(ctx, files); err != nil {
		return nil, err
	}
	return b.result(single), nil
}

func writeParams(in map[string]any) (files []content, single bool, err error) {
	a := newArgs(in, "file_path", "content", "files")
	single = !a.has("files")
	if single {
		files = []content{{a.need("file_path"), a.text("content")}}
	} else {
		if a.has("file_path") || a.has("content") {
			a.bad("files", "cannot stand beside file_path and content")
		}
		for _, f := range a.objects("files", "file_path", "content") {
			files = append(files, content{f.need("file_path"), f.text("content")})
		}
	}
	checkSizes(a, files)
	return files, single, a.err()
}

func checkSizes(a args, files []content) {
	total := 0
	for _, f := range files {
		total += len(f.data)
		if len(f.data) > maxFile {
			a.bad("content", "of %q has %d bytes, more than %d", f.name, len(f.data), maxFile)
		}
	}
	switch {
	case len(files) == 0:
		a.bad("files", "must list a file")
	case len(files) > maxBatch:
		a.bad("files", "lists %d files, more than %d", len(files), maxBatch)
	case total > maxBatchBytes:
		a.bad("files", "hold %d bytes together, more than %d", total, maxBatchBytes)
	}
}

// batch writes several files as one step: every path is checked and every
// content lies on the disk before the first rename.
type batch struct {
	pr     *project
	spots  []*spot
	staged []*staged
}

func (b *batch) close() {
	for _, st := range b.staged {
		st.drop()
	}
	for _, s := range b.spots {
		s.close()
	}
}

func (b *batch) write(ctx context.Context, files []content) error {
	if err := b.check(files); err != nil {
		return err
	}
	for i, f := range files {
		if err := ctx.Err(); err != nil {
			return cancelled("writing", err)
		}
		if err := b.stage(b.spots[i], f); err != nil {
			return err
		}
	}
	return b.commit()
}

// check resolves every path and collects everything that is wrong with any.
func (b *batch) check(files []content) error {
	var findings []diag.Finding
	var rels []string
	var first error
	for _, f := range files {
		s, err := b.pr.find(f.name)
		if err == nil {
			b.spots, rels = append(b.spots, s), append(rels, s.rel)
			err = s.checkWritable()
		}
		if err != nil {
			first = firstOf(first, err)
			findings = append(findings, diag.Errorf(diag.CodeOf(err), 0, 0, "%s", err))
		}
	}
	if len(findings) == 1 {
		return first
	}
	if one, other, bad := overlapping(rels); bad && len(findings) == 0 {
		return diag.New(diag.ValidationFailed, "writing files: %q and %q are the same place, or one lies in the other", one, other)
	}
	return diag.FromFindings("writing files", findings)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// stage keeps the old content only for the difference.
func (b *batch) stage(s *spot, f content) error {
	var old []byte
	if s.info != nil && s.info.Size() <= maxFile {
		var err error
		if old, err = s.read(); err != nil {
			return err
		}
	}
	st, err := s.stage(old, []byte(f.data))
	if err == nil {
		b.staged = append(b.staged, st)
	}
	return err
}

// commit renames one by one; when one fails, the error says what was done.
func (b *batch) commit() error {
	var done []string
	for _, st := range b.staged {
		if err := st.commit(); err != nil {
			if e, ok := err.(*diag.Error); ok && len(done) > 0 {
				return e.WithDetail("files_written", done)
			}
			return err
		}
		done = append(done, st.spot.rel)
	}
	return nil
}

func (b *batch) result(single bool) writeResult {
	r := writeResult{Success: true}
	var out strings.Builder
	for _, st := range b.staged {
		r.BytesWritten += len(st.new)
		r.Results = append(r.Results, wroteFile{st.spot.rel, len(st.new), st.created})
		out.WriteString(st.diff())
	}
	r.Output = cutLines(out.String(), maxDiff)
	if single {
		r.FilePath, r.Created, r.Results = r.Results[0].FilePath, &r.Results[0].Created, nil
		return r
	}
	r.FilesWritten = len(r.Results)
	return r
}

// diff shows what changed, for text.
func (st *staged) diff() string {
	oldName, newName := "a/"+st.spot.rel, "b/"+st.spot.rel
	if st.created {
		oldName = "/dev/null"
	} else if st.old == nil && st.spot.info.Size() > 0 {
		return fmt.Sprintf("%s: the old file was too large to compare\n", st.spot.rel)
	}
	if strings.ContainsRune(string(st.old), 0) || strings.ContainsRune(string(st.new), 0) {
		return fmt.Sprintf("Binary files %s and %s differ\n", oldName, newName)
	}
	return valid(linediff.Unified(oldName, newName, st.old, st.new))
}

// cutLines keeps the first lines of s, at most limit bytes, and says what is
// left out.
func cutLines(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := s[:limit]
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	}
	return valid(head) + fmt.Sprintf("… [%d more lines]\n", strings.Count(s[len(head):], "\n"))
}

func cancelled(doing string, err error) error {
	return diag.New(diag.Cancelled, "%s: %w", doing, err)
}
