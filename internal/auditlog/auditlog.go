// Package auditlog keeps the user's log of signatures: one line per signature,
// with the hash of the line before it, so that an altered, removed or moved line
// is found.
//
// It does not make or verify signatures and has no keys. A process that can
// write the log can also replace the whole log together with its head file; the
// chain does not detect that.
//
// A log that is truncated or changed at its end stops signing until the user moves it; a state
// that a killed process leaves is repaired. Signing checks the end only, to stay fast. Without a
// directory for the log, rye signs nothing.
package auditlog

import (
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/chainlog"
)

// The files of the log in the user's state directory.
const (
	File     = "signatures.jsonl"
	HeadFile = "signatures.head"
	lockFile = "signatures.lock"
)

// genesis takes the place of the line before the first one. It is not in the file.
const genesis = "rye.dev/signatures/v1\n"

// Params configures a log. With the zero value every call fails.
type Params struct {
	Dir string           // rye's state directory of the user; "" if unknown
	Now func() time.Time // nil means time.Now
	// Wait is how long Append waits for another process that signs; 0 means
	// lockWait.
	Wait time.Duration
}

const lockWait = 10 * time.Second

// Log is the log in one state directory. No file is open between calls.
type Log struct{ p Params }

// New returns the log of a state directory. It does not access the disk.
func New(p Params) *Log {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Wait == 0 {
		p.Wait = lockWait
	}
	return &Log{p}
}

// Path returns the name of the log's file, "" if the state directory is unknown.
func (l *Log) Path() string {
	return l.path(File)
}

func (l *Log) path(name string) string {
	if l.p.Dir == "" {
		return ""
	}
	return filepath.Join(l.p.Dir, name)
}

// base returns the base for writing.
func (l *Log) base() atomicfile.Base {
	return atomicfile.Private(l.p.Dir)
}

// requireDir returns an error if the state directory is unknown.
func (l *Log) requireDir(doing string) error {
	if l.p.Dir != "" {
		return nil
	}
	return diag.New(diag.FileSystemError, "%s: the environment names no state directory that is the user's own", doing).
		WithReason("no_state_directory")
}

// format returns the format of the log's lines.
func format() *chainlog.Format {
	return &chainlog.Format{
		Genesis: genesis,
		MaxLine: maxLine,
		Head:    HeadFile,
		Link:    link,
		Repair:  "the next signature removes it",
		Reason:  "log_line",
	}
}

func link(line []byte) (chainlog.Link, error) {
	e, err := parse(line)
	return chainlog.Link{Seq: e.Seq, Prev: e.Prev}, err
}
