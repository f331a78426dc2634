// Package runlog keeps a local record of runs for the user of this machine: one line
// of JSON for each run, in two files of bounded size.
//
// A line has the item, the time, the duration and the code of the result. It has no
// parameters, results, messages or paths. The record is not sent anywhere, and no
// run fails because a line cannot be written.
package runlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
)

// DefaultMax is the size in bytes at which the newer file becomes the older one.
const DefaultMax = 1 << 20

// maxRead bounds what is read of a file. A file that rye wrote is much smaller.
const maxRead = 64 << 20

const (
	newer = "runs.jsonl"
	older = "runs.1.jsonl"
)

// maxLine is the largest line in bytes: one write of that size is not mixed with
// another.
const maxLine = 2 << 10

// Entry is one run.
type Entry struct {
	Time     time.Time `json:"time"` // when it ended
	Ref      string    `json:"ref"`
	Space    string    `json:"space,omitempty"` // of the item
	Version  string    `json:"version,omitempty"`
	Digest   string    `json:"digest,omitempty"` // of the item's file
	Surface  string    `json:"surface,omitempty"`
	Code     diag.Code `json:"code,omitempty"` // "" when it succeeded
	Duration int64     `json:"duration_ms"`
	CPU      int64     `json:"cpu_ms,omitempty"`
}

// Log is a record in a directory. The zero value with Dir set is ready to use.
type Log struct {
	Dir string // "" keeps no record
	Max int64  // zero means DefaultMax
}

func (l *Log) path(name string) string {
	return filepath.Join(l.Dir, name)
}

// Append adds one line. Several processes may append at once: a line is one write at
// the end of the file.
func (l *Log) Append(e Entry) error {
	if l.Dir == "" {
		return nil
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	b, err := jsonx.Marshal(e)
	b = hidden.JSON(b)
	if err != nil || len(b) >= maxLine {
		return diag.New(diag.TooLarge, "recording a run: its line has %d bytes", len(b))
	}
	f, err := l.open()
	if err != nil {
		return failed(err)
	}
	_, err = f.Write(append(b, '\n'))
	return failed(errors.Join(err, f.Close()))
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return diag.New(diag.FileSystemError, "recording a run: %w", err)
}

// open opens the newer file, after making it the older one if it is full. Two
// processes that do so at once can lose lines, but do not exceed the bound.
func (l *Log) open() (*os.File, error) {
	base := atomicfile.Private(l.Dir)
	limit := l.Max
	if limit == 0 {
		limit = DefaultMax
	}
	fi, err := os.Lstat(l.path(newer))
	if err == nil && fi.Size() >= limit && fi.Mode().IsRegular() {
		err := base.Rename(newer, older)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return base.OpenFile(newer, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// State describes the record itself.
type State struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Skipped int   `json:"skipped"` // lines that are not valid
}

// Read returns every run, the oldest first.
func (l *Log) Read() ([]Entry, State, error) {
	var out []Entry
	var s State
	if l.Dir == "" {
		return nil, s, nil
	}
	for _, name := range []string{older, newer} {
		b, err := openat.ReadRegular(l.path(name), maxRead)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, s, diag.New(diag.FileSystemError, "reading the record of runs: %w", err)
		}
		s.Files++
		s.Bytes += int64(len(b))
		lines := bufio.NewScanner(bytes.NewReader(b))
		lines.Buffer(nil, len(b)+1)
		for lines.Scan() {
			var e Entry
			if json.Unmarshal(lines.Bytes(), &e) != nil ||
				e.Ref == "" ||
				e.Time.IsZero() {
				s.Skipped++
				continue
			}
			out = append(out, e)
		}
	}
	return out, s, nil
}
