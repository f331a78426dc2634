package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLine is the length of a pkt-line, which the format itself limits.
const maxLine = 65520

var errLine = errors.New("its response is not that of git")

// lines reads pkt-lines: four hexadecimal digits, the length with these, and bytes.
type lines struct {
	r   *bufio.Reader
	buf [maxLine]byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 16<<10)} }

// next returns the bytes of the next line, which are valid until the next call. They are
// nil for a flush.
func (l *lines) next() ([]byte, error) {
	var digits [4]byte
	if _, err := io.ReadFull(l.r, digits[:]); err != nil {
		return nil, cut(err)
	}
	n, err := strconv.ParseUint(string(digits[:]), 16, 32)
	switch {
	case err != nil || n > 0 && n < 4 || n > maxLine:
		return nil, fmt.Errorf("%w: a line has the length %q", errLine, digits[:])
	case n == 0:
		return nil, nil
	}
	b := l.buf[:n-4]
	if _, err := io.ReadFull(l.r, b); err != nil {
		return nil, cut(err)
	}
	return b, nil
}

// cut turns the end of a response into an error.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pktLine renders a line.
func pktLine(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }

// remoteError is the error that a remote itself reported.
type remoteError struct{ text string }

func (e *remoteError) Error() string { return "it reports " + strconv.Quote(e.text) }

// textOf returns a line without its end, or the error in it.
func textOf(line []byte) (string, error) {
	text := strings.TrimSuffix(string(line), "\n")
	if said, is := strings.CutPrefix(text, "ERR "); is {
		return "", &remoteError{said[:min(len(said), 500)]}
	}
	return text, nil
}

// demux returns the bytes of a pack that arrive among progress and errors.
type demux struct {
	*lines
	rest []byte
}

// Read implements io.Reader.
func (d *demux) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		line, err := d.next()
		if err != nil {
			return 0, err
		}
		if line == nil {
			return 0, io.EOF
		}
		if len(line) == 0 {
			return 0, fmt.Errorf("%w: a line has no channel", errLine)
		}
		switch line[0] {
		case 1:
			d.rest = line[1:]
		case 2: // progress
		case 3:
			return 0, &remoteError{strings.TrimSpace(string(line[1:min(len(line), 500)]))}
		default:
			return 0, fmt.Errorf("%w: a line has the channel %d", errLine, line[0])
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}
