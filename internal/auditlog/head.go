package auditlog

import (
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/openat"
)

// maxHead bounds the head file, which is one line.
const maxHead = 4096

// readHead reads the head file. known is false if the file is missing or was
// damaged by a power loss; the log is then read from its beginning.
func (l *Log) readHead() (h chainlog.Head, known bool, err error) {
	name := l.path(HeadFile)
	if fi, err := os.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		return h, false, diag.New(diag.NotRegular, "reading %s: it is not a regular file", name)
	}
	b, err := openat.ReadRegular(name, maxHead)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return format().Start(), false, nil
	case err != nil:
		return h, false, diag.New(diag.FileSystemError, "reading where the log of signatures ends: %w", err)
	}
	h, known = format().ParseHead(b)
	return h, known, nil
}

// writeHead does not flush to the disk. After a power loss an older head is
// accepted: settle reads the lines that follow it.
func (l *Log) writeHead(h chainlog.Head) error {
	return l.base().Replace(HeadFile, h.Render(), 0o600)
}
