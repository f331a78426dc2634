// Package heads keeps, in the state directory of the user, the newest head of each log of a thread or run that this user
// account wrote. A log in a project can be set back to an earlier state that is signed, too; the record shows it.
//
// It does not read logs, does not judge them, and does not wait for the disk: a log is on the disk before its head is
// recorded, so that a loss of power leaves a record that is at most older than the log.
package heads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
)

// Dir returns the directory of the records in a state directory, "" if that is unknown.
func Dir(state string) string {
	if state == "" {
		return ""
	}
	return filepath.Join(state, "heads")
}

// Head is what a record states: the newest head of a log, and the project whose log it is.
type Head struct {
	chainlog.Head
	Project string
}

// Record is the record of one log, which one process at a time has.
type Record struct {
	id      string
	file    *os.File
	lock    *filelock.Lock
	project string // to be written; "" after that
}

// The file is a line feed, a line of fixed length with the head, and a line with the project. The line feed is what the
// lock on Windows covers, which prevents reading there. The head is written again and again in its position, in one
// write; its last field is a part of the hash of the others, so that a reader recognises half a write.
const (
	version = "rye.dev/heads/v1 "
	family  = "rye.dev/heads/v"
	offset  = 1
	maxFile = 16 << 10
)

func render(h chainlog.Head) string {
	s := fmt.Sprintf("%s%019d %019d %s", version, h.Seq, h.Size, h.Last)
	return s + " " + check(s) + "\n"
}

func check(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// Open takes the record of a log for writing, and creates it if there is none. Its error is a *filelock.Held if another
// process has it, for which it waits for at most limit.
func Open(ctx context.Context, dir, id, project string, limit time.Duration) (*Record, error) {
	f, err := atomicfile.Private(dir).OpenFile(id, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.AcquireWithin(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	return &Record{
		id:      id,
		file:    f,
		lock:    lock,
		project: project,
	}, nil
}

// Close releases the record.
func (r *Record) Close() error {
	return r.lock.Release()
}

// Set records the head of the log, whose lines are on the disk.
func (r *Record) Set(h chainlog.Head) error {
	if r.project == "" {
		return r.write(render(h), offset)
	}
	dir, err := json.Marshal(r.project)
	if err != nil {
		return r.failed(err)
	}
	text := "\n" + render(h) + string(dir) + "\n"
	if err := r.write(text, 0); err != nil {
		return err
	}
	r.project = ""
	err = r.file.Truncate(int64(len(text)))
	if err != nil { // of a longer path
		return r.failed(err)
	}
	return nil
}

func (r *Record) write(text string, at int64) error {
	_, err := r.file.WriteAt([]byte(text), at)
	if err != nil {
		return r.failed(err)
	}
	return nil
}

// Forget removes what the record states: the next log with the id is not compared with it.
func (r *Record) Forget() error {
	if err := r.file.Truncate(0); err != nil {
		return r.failed(err)
	}
	return nil
}

func (r *Record) failed(err error) error {
	return diag.New(diag.FileSystemError, "recording the end of the log of %s: %w", r.id, err).
		WithDetail("path", r.file.Name())
}

// reads is how often Read reads a record that another process may be writing.
const reads = 5

// Read returns the newest head of a log, and ok false if none is recorded.
func Read(dir, id string) (h Head, ok bool, err error) {
	for range reads {
		var text []byte
		if text, err = contents(filepath.Join(dir, id)); err != nil {
			return h, false, diag.Doing("reading the newest state of "+id, err)
		}
		if len(bytes.Trim(text, "\x00\n")) == 0 {
			return h, false, nil // none, or a loss of power came before its first content was on the disk
		}
		if h, ok = parse(text); ok {
			return h, true, nil
		}
		v := strings.TrimPrefix(string(text), family)
		if v != string(text) && !strings.HasPrefix(string(text), version) {
			return h, false, diag.New(diag.VersionMismatch, "reading the newest state of %s: a later version of rye wrote %s", id, filepath.Join(dir, id)).
				WithReason("heads_newer").WithDetail("path", filepath.Join(dir, id))
		}
	}
	return h, false, diag.New(diag.Rollback, "reading the newest state of %s: %s is damaged", id, filepath.Join(dir, id)).
		WithReason("log_set_back").WithDetail("id", id)
}

// contents returns the file without its first byte, nil if it does not exist.
func contents(name string) ([]byte, error) {
	f, err := openat.OpenRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, offset, maxFile))
}

func parse(text []byte) (h Head, ok bool) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	_, err := fmt.Sscanf(
		string(head),
		version+"%d %d %s",
		&h.Seq,
		&h.Size,
		&h.Last,
	)
	if err != nil || string(head)+"\n" != render(h.Head) {
		return Head{}, false
	}
	_ = json.Unmarshal(rest, &h.Project) // it is only shown
	return h, true
}

// Prune removes the records that were not written since a time and whose log does not exist any more.
func Prune(dir string, before time.Time, exists func(project, id string) bool) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		info, ierr := e.Info()
		if ierr != nil ||
			!info.Mode().IsRegular() ||
			!info.ModTime().Before(before) {
			continue
		}
		h, _, rerr := Read(dir, e.Name())
		if rerr != nil || h.Project != "" && exists(h.Project, e.Name()) {
			continue
		}
		err = errors.Join(err, atomicfile.Private(dir).Remove(e.Name()))
	}
	return err
}
