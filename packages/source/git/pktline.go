package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"

	"github.com/ryeos/rye/internal/cuttext"
)

// maxLine is the length of a pkt-line, which the format itself limits.
const maxLine = pktline.OversizePayloadMax

var errLine = errors.New("its response is not that of git")

// lines reads pkt-lines, whose length the format itself limits.
type lines struct {
	r *bufio.Reader
	s *pktline.Scanner
}

func newLines(r io.Reader) *lines {
	b := bufio.NewReaderSize(r, 16<<10)
	return &lines{b, pktline.NewScanner(b)}
}

// next returns the bytes of the next line, which are valid until the next call. They are
// nil for a flush.
func (l *lines) next() ([]byte, error) {
	if !l.s.Scan() {
		if err := l.s.Err(); err != nil {
			return nil, lineError(err)
		}
		return nil, io.ErrUnexpectedEOF
	}
	if b := l.s.Bytes(); len(b) > 0 {
		return b, nil
	}
	return nil, nil
}

// lineError returns the error for a line that could not be read.
func lineError(err error) error {
	var said *pktline.ErrorLine
	switch {
	case errors.As(err, &said):
		return &remoteError{clip(said.Text)}
	case errors.Is(err, pktline.ErrInvalidPktLen):
		return fmt.Errorf("%w: a line has no valid length", errLine)
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// pktLine renders a line.
func pktLine(text string) string {
	var b strings.Builder
	if err := pktline.NewEncoder(&b).EncodeString(text); err != nil {
		panic(err) // rye sends short lines only
	}
	return b.String()
}

// remoteError is the error that a remote itself reported.
type remoteError struct{ text string }

func (e *remoteError) Error() string { return "it reports " + strconv.Quote(e.text) }

// clip returns a text of a remote that may be part of an error.
func clip(text string) string { return strings.TrimSpace(cuttext.Start(text, 500)) }

// textOf returns a line without its end.
func textOf(line []byte) string { return strings.TrimSuffix(string(line), "\n") }

// demux returns the bytes of a pack that arrive among progress and errors.
type demux struct{ d *sideband.Demuxer }

func newDemux(l *lines) demux { return demux{sideband.NewDemuxer(sideband.Sideband64k, l.r)} }

// Read implements io.Reader.
func (d demux) Read(p []byte) (int, error) {
	n, err := d.d.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	if said, is := strings.CutPrefix(err.Error(), "unexpected error: "); is {
		return n, &remoteError{clip(said)}
	}
	if strings.HasPrefix(err.Error(), "unknown channel ") {
		return n, fmt.Errorf("%w: a line has an unknown channel", errLine)
	}
	return n, lineError(err)
}
