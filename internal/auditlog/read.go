package auditlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/openat"
)

// Report is the content of a log and its faults.
type Report struct {
	Path    string  `json:"path"`
	Total   int     `json:"total"`   // number of entries
	Entries []Entry `json:"entries"` // the newest of them, oldest first
	// Findings are the faults of the chain in the order of lines. A warning is
	// not a break.
	Findings []diag.Finding `json:"findings,omitempty"`
}

// Err returns an error if the chain is broken.
func (r *Report) Err() error {
	return diag.FromFindings("checking the log of signatures", r.Findings)
}

// Read reads the whole log, compares every line with the one before it, and
// returns at most limit of the newest entries, all if limit is 0. It does not
// take the lock and may run while other processes append. A log that does not
// exist is empty.
func (l *Log) Read(ctx context.Context, limit int) (*Report, error) {
	if err := l.requireDir("reading the log of signatures"); err != nil {
		return nil, err
	}
	// The head must be read before the log: the log only grows, so it then has at
	// least the lines that the head covers.
	h, known, err := l.readHead()
	if err != nil {
		return nil, err
	}
	f, err := l.openToRead()
	if err != nil {
		return nil, err
	}
	r := io.Reader(f)
	if f == nil {
		r = nothing{}
	} else {
		defer func() { _ = f.Close() }()
	}
	return l.read(ctx, r, h, known, limit)
}

func (l *Log) read(
	ctx context.Context,
	r io.Reader,
	h chainlog.Head,
	known bool,
	limit int,
) (*Report, error) {
	f := format()
	var last Entry // of the line that was added last
	f.Link = func(line []byte) (_ chainlog.Link, err error) {
		last, err = parse(line)
		return chainlog.Link{Seq: last.Seq, Prev: last.Prev}, err
	}
	c := f.NewCheck(h, known)
	rep := &Report{Path: l.Path(), Entries: []Entry{}}
	err := f.EachLine(r, func(line []byte, whole bool) error {
		if !whole {
			c.Cut()
			return ctx.Err()
		}
		if c.Add(line) {
			rep.keep(last, limit)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the log of signatures: %w", err)
	}
	rep.Findings = diag.WithPath(c.End(), rep.Path)
	if over := len(rep.Entries) - limit; limit > 0 && over > 0 {
		rep.Entries = rep.Entries[over:]
	}
	return rep, nil
}

// keep adds an entry. At most 2*limit entries are in memory.
func (r *Report) keep(e Entry, limit int) {
	r.Total++
	if limit > 0 && len(r.Entries) >= 2*limit {
		r.Entries = append(
			r.Entries[:0],
			r.Entries[len(r.Entries)-limit:]...,
		)
	}
	r.Entries = append(r.Entries, e)
}

// openToRead returns a nil file if there is no log.
func (l *Log) openToRead() (*os.File, error) {
	name := l.Path()
	fi, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !fi.Mode().IsRegular():
		return nil, diag.New(diag.NotRegular, "reading %s: it is not a regular file", name)
	}
	f, err := openat.OpenRegular(name)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading the log of signatures: %w", err)
	}
	return f, nil
}

// nothing is a log that does not exist.
type nothing struct{}

// Read implements io.Reader.
func (nothing) Read([]byte) (int, error) {
	return 0, io.EOF
}
