// Package trail keeps the audit log of the gateway: one line for each request that may change something,
// with the hash of the line before it, so that an altered, removed or moved line is found.
//
// It has no content of requests, only their digests, and it does not decide who may do what.
package trail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/openat"
)

// Entry is a request. Append sets Seq, Time and Prev.
type Entry struct {
	Seq     int64  `json:"seq"`
	Time    string `json:"time"` // UTC, whole seconds
	Key     string `json:"key"`  // the id and the name of the key, "" without one
	Address string `json:"address"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Body    string `json:"body,omitempty"` // the digest of the body
	Status  int    `json:"status"`
	Request string `json:"request"` // its name in the answer
	Prev    string `json:"prev"`
}

// The files of the log.
const (
	logFile  = "audit.jsonl"
	headFile = "audit.head"
	lockFile = "audit.lock"
)

const (
	genesis  = "rye.dev/gateway-audit/v1\n"
	maxLine  = 16 << 10
	maxHead  = 4 << 10
	maxPath  = 2 << 10
	lockWait = 5 * time.Second
)

// Log is the log in one directory.
type Log struct {
	base atomicfile.Base
	now  func() time.Time
	mu   sync.Mutex
}

// Open returns the log in a directory of the user.
func Open(base atomicfile.Base, now func() time.Time) *Log {
	return &Log{base: base, now: now}
}

func format() *chainlog.Format {
	return &chainlog.Format{
		Genesis: genesis,
		MaxLine: maxLine,
		Head:    headFile,
		Link:    link,
		Repair:  "the next request removes it",
		Reason:  "log_line",
	}
}

func link(line []byte) (chainlog.Link, error) {
	var e Entry
	err := chainlog.Parse(line, maxLine, "entry", &e)
	return chainlog.Link{Seq: e.Seq, Prev: e.Prev}, err
}

// Append writes an entry, and returns when it is in the file. A line that a killed server did not finish
// is removed first.
func (l *Log) Append(ctx context.Context, e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.base.MkdirAll("."); err != nil {
		return err
	}
	lock, err := l.base.LockWithin(ctx, lockFile, lockWait)
	if err != nil {
		return diag.Doing("writing the audit log", err)
	}
	defer func() { _ = lock.Release() }()
	f, err := l.base.OpenFile(logFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return diag.Doing("writing the audit log", err)
	}
	defer func() { _ = f.Close() }()
	h, err := l.end(f)
	if err != nil {
		return err
	}
	e.Seq = h.Seq + 1
	e.Time = l.now().UTC().Format(time.RFC3339)
	e.Prev = h.Last
	// A path is chosen by the client.
	if len(e.Path) > maxPath {
		e.Path = e.Path[:maxPath]
	}
	line, err := chainlog.Render(e)
	if err != nil {
		return diag.New(diag.Internal, "writing the audit log: %w", err)
	}
	if err := chainlog.Write(f, line, h.Size, false); err != nil {
		return diag.New(diag.FileSystemError, "writing the audit log: %w", err)
	}
	next := h.After(line)
	return l.base.Replace(headFile, next.Render(), 0o600)
}

// end returns where the log ends.
func (l *Log) end(f *os.File) (chainlog.Head, error) {
	h, err := l.head()
	if err != nil {
		return h, err
	}
	end, torn, err := format().Settle(f, h)
	switch {
	case errors.Is(err, chainlog.ErrCut), errors.Is(err, chainlog.ErrAltered):
		return h, diag.New(diag.TranscriptBroken, "writing the audit log: %s %w after it was last written", l.base.Path(logFile), err).
			WithReason("log_changed")
	case err == nil && torn > 0:
		err = f.Truncate(end.Size)
	}
	if err != nil {
		return h, diag.New(diag.FileSystemError, "writing the audit log: %w", err)
	}
	return end, nil
}

// head reads the recorded end. Without one the log is read from its beginning.
func (l *Log) head() (chainlog.Head, error) {
	b, err := openat.ReadRegular(l.base.Path(headFile), maxHead)
	if errors.Is(err, fs.ErrNotExist) {
		return format().Start(), nil
	}
	if err != nil {
		return format().Start(), diag.New(diag.FileSystemError, "reading where the audit log ends: %w", err)
	}
	// One that a loss of power damaged is as none.
	h, _ := format().ParseHead(b)
	return h, nil
}

// Read passes the entries since a time, the oldest first. broken names the first fault of the chain, "" for none.
func (l *Log) Read(since time.Time, each func(*Entry)) (broken string, err error) {
	h, err := l.head()
	if err != nil {
		return "", err
	}
	f, err := openat.OpenRegular(l.base.Path(logFile))
	if errors.Is(err, fs.ErrNotExist) {
		if h.Seq > 0 {
			broken = "the log was removed"
		}
		return broken, nil
	}
	if err != nil {
		return "", diag.New(diag.FileSystemError, "reading the audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	at := format().Start()
	in := bufio.NewReaderSize(f, maxLine+1)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var e Entry
		if err == nil {
			err = chainlog.Parse(line, maxLine, "entry", &e)
		}
		if err != nil {
			return "a line cannot be read: " + err.Error(), nil
		}
		follows := e.Seq == at.Seq+1 && e.Prev == at.Last
		if broken == "" && !follows {
			number := strconv.FormatInt(at.Seq+1, 10)
			broken = "line " + number + " or the one before it was altered"
		}
		// The buffer of the reader is used again.
		at = at.After(bytes.Clone(line))
		made, err := time.Parse(time.RFC3339, e.Time)
		if err != nil {
			continue // a line that was altered
		}
		if !made.Before(since) {
			each(&e)
		}
	}
	if broken == "" && at.Seq < h.Seq {
		number := strconv.FormatInt(at.Seq, 10)
		broken = "lines after line " + number + " were removed"
	}
	return broken, nil
}
