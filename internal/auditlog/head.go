package auditlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
)

// head records the end of the log after the last append. Without it the removal
// of the last lines would not be noticed.
type head struct {
	Seq  int64  `json:"seq"`  // of the last entry
	Size int64  `json:"size"` // of the log, in bytes
	Last string `json:"last"` // the hash of the last line
}

// maxHead bounds the head file, which is one line.
const maxHead = 4096

// start is the head of a log without entries.
func start() head { return head{Last: digestOf([]byte(genesis))} }

// readHead reads the head file. known is false if the file is missing or was
// damaged by a power loss; the log is then read from its beginning.
func (l *Log) readHead() (h head, known bool, err error) {
	name := l.path(HeadFile)
	if fi, err := os.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		return h, false, diag.New(diag.NotRegular, "reading %s: it is not a regular file", name)
	}
	b, err := openat.ReadRegular(name, maxHead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return start(), false, nil
	case err != nil:
		return h, false, diag.New(diag.FileSystemError, "reading where the log of signatures ends: %w", err)
	}
	h, known = parseHead(b)
	return h, known, nil
}

func parseHead(b []byte) (h head, known bool) {
	if json.Unmarshal(b, &h) != nil || h.Seq < 1 || h.Size < 1 || !isDigest(h.Last) || !bytes.Equal(h.render(), b) {
		return start(), false
	}
	return h, true
}

func (h head) render() []byte {
	b, _ := jsonx.Marshal(h)
	return append(b, '\n')
}

// writeHead does not flush to the disk. After a power loss an older head is
// accepted: settle reads the lines that follow it.
func (l *Log) writeHead(h head) error {
	return l.base().Replace(HeadFile, h.render(), 0o600)
}

// after returns the head after line, whose entry is e, was appended.
func (h head) after(e Entry, line []byte) head {
	return head{Seq: e.Seq, Size: h.Size + int64(len(line)), Last: digestOf(line)}
}
