package transcript

import (
	"bufio"
	"errors"
	"io"
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Reader reads the lines of a log that grows, without checking the chain, to show them.
type Reader struct {
	project, id string
	offset      int64
}

// NewReader returns a reader at the first line of a log.
func NewReader(project, id string) *Reader {
	return &Reader{project: project, id: id}
}

// Next passes the lines that were added since the last call, with their artifacts in their
// positions. A line without an end is passed when it has one. A log that does not exist yet
// has no lines.
func (r *Reader) Next(each func(*Line) error) error {
	f, err := openat.OpenRegular(Base(r.project, r.id).Path(File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return diag.Doing("reading the log of "+r.id, err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
		return diag.Doing("reading the log of "+r.id, err)
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		var long []byte
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= MaxLine {
			long = append(long, line...)
			line, err = in.ReadSlice('\n')
		}
		if line = append(long, line...); err != nil {
			return nil // the rest is not written yet
		}
		l, err := parse(line)
		if err != nil {
			return diag.New(diag.TranscriptBroken, "reading the log of %s: %w", r.id, err)
		}
		r.offset += int64(len(line))
		whole, err := Whole(r.project, r.id, &l)
		if err != nil {
			whole = &l // the line is shown without what is missing
		}
		if err := each(whole); err != nil {
			return err
		}
	}
}
