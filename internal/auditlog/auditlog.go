// Package auditlog keeps the user's log of signatures: one line for each, each
// line naming the hash of the one before it, so that a line that was altered,
// removed or moved shows.
//
// It writes down what it is told: it makes and verifies no signature and knows
// no key. Whoever may write the log may also write all of it anew, and the file
// beside it that tells where it ends; against that a chain is no defence.
package auditlog

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
)

// The files of the log in the user's state folder.
const (
	File     = "signatures.jsonl"
	HeadFile = "signatures.head"
	lockFile = "signatures.lock"
)

// genesis is the line before the first one; it stands in no file.
const genesis = "rye.dev/signatures/v1\n"

// Params says where a log is. The zero value has no place for one.
type Params struct {
	Dir string           // the user's state folder for rye; "": unknown, every call fails
	Now func() time.Time // nil means time.Now
}

// Log is the log in one state folder. It holds no file open between calls.
type Log struct{ p Params }

// New returns the log of a state folder. Nothing is read or made.
func New(p Params) *Log {
	if p.Now == nil {
		p.Now = time.Now
	}
	return &Log{p}
}

// Path returns the name of the log's file, "" when the state folder is unknown.
func (l *Log) Path() string { return l.path(File) }

func (l *Log) path(name string) string {
	if l.p.Dir == "" {
		return ""
	}
	return filepath.Join(l.p.Dir, name)
}

// placed returns an error when there is no folder to keep a log in.
func (l *Log) placed(doing string) error {
	if l.p.Dir != "" {
		return nil
	}
	return diag.New(diag.FileSystemError, "%s: the environment names no state folder that is the user's own", doing).
		WithHint("set HOME, or have XDG_STATE_HOME name a folder outside of the project")
}

func digestOf(line []byte) string {
	sum := sha256.Sum256(line)
	return "sha256:" + hex.EncodeToString(sum[:])
}
