package chainlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// EachLine calls do for each line with its line feed. whole is false for a last
// line without one. Of a line longer than MaxLine only the beginning is passed, with
// more than MaxLine bytes. line is valid until do returns.
func (f *Format) EachLine(r io.Reader, do func(line []byte, whole bool) error) error {
	br := bufio.NewReaderSize(r, f.MaxLine+1)
	for {
		line, err := br.ReadSlice('\n')
		whole := err == nil
		if errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.Clone(line)
			whole, err = skipLine(br)
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(line) > 0 {
			if err := do(line, whole); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// skipLine reads to the end of a line and reports whether it has one.
func skipLine(br *bufio.Reader) (whole bool, err error) {
	for {
		_, err := br.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err == nil, err
		}
	}
}

// lineBefore returns the line that ends at an offset, at most its last MaxLine
// bytes.
func (f *Format) lineBefore(r io.ReaderAt, end int64) ([]byte, error) {
	b := make([]byte, min(end, int64(f.MaxLine)))
	if len(b) == 0 {
		return nil, nil
	}
	if _, err := r.ReadAt(b, end-int64(len(b))); err != nil && err != io.EOF {
		return nil, err
	}
	return b[bytes.LastIndexByte(b[:len(b)-1], '\n')+1:], nil
}
