package chainlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
)

// Render returns a struct as a line of JSON with its line feed. Hidden characters are
// escaped.
func Render(v any) ([]byte, error) {
	b, err := jsonx.Marshal(v)
	return append(hidden.JSON(b), '\n'), err
}

// Parse reads a line with its line feed into a struct. Each line has one spelling: one
// that Render would write differently is refused. what is the name of a line in
// messages: "event".
func Parse(line []byte, maxLine int, what string, into any) error {
	if len(line) > maxLine {
		return fmt.Errorf("it has more than %d bytes", maxLine)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("it is not an %s: %w", what, err)
	}
	b, err := Render(into)
	if err != nil || !bytes.Equal(b, line) {
		return errors.New("it is not in the spelling of rye")
	}
	return nil
}

// EachLine calls do for each line with its line feed. whole is false for a last
// line without one. Of a line longer than MaxLine only the beginning is passed, with
// more than MaxLine bytes. line is valid until do returns.
func (f *Format) EachLine(r io.Reader, do func(line []byte, whole bool) error) error {
	br := bufio.NewReaderSize(r, lineBuffer)
	var long []byte // the beginning of a line that the buffer does not hold
	for {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = f.lengthen(long, line)
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		if len(long) > 0 {
			long = f.lengthen(long, line)
			line = long
		}
		if len(line) > 0 {
			if err := do(line, err == nil); err != nil {
				return err
			}
		}
		long = long[:0]
		if err == io.EOF {
			return nil
		}
	}
}

// lineBuffer holds nearly every line. A buffer of MaxLine bytes would cost a short run
// more than reading its log.
const lineBuffer = 32 << 10

// lengthen adds to the beginning of a line what is not beyond MaxLine+1 bytes.
func (f *Format) lengthen(long, more []byte) []byte {
	return append(
		long,
		more[:min(len(more), f.MaxLine+1-len(long))]...,
	)
}

// lineBefore returns the line that ends at an offset, at most its last MaxLine
// bytes.
func (f *Format) lineBefore(r io.ReaderAt, end int64) ([]byte, error) {
	for size := int64(lineBuffer); ; size *= 8 {
		b := make([]byte, min(end, int64(f.MaxLine), size))
		if len(b) == 0 {
			return nil, nil
		}
		_, err := r.ReadAt(b, end-int64(len(b)))
		if err != nil && err != io.EOF {
			return nil, err
		}
		at := bytes.LastIndexByte(b[:len(b)-1], '\n')
		if at >= 0 || int64(len(b)) < size {
			return b[at+1:], nil
		}
	}
}
