// Package journal writes several files as one change: it records all of them in one
// file, writes them, and removes the record. If the process is killed between, the
// next one writes the rest.
//
// It does not decide who may make a change. A record is as powerful as the right to
// write into the directories that it names, so callers keep it where only the user
// can write.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
)

// Journal is where one change at a time is recorded.
type Journal struct {
	Record string            // the absolute path of the record
	Lock   string            // the absolute path of a lock file
	Dirs   map[string]string // the absolute directories that files are written into, by name
}

// File is a file of a change. It replaces one with the same name, and only its owner
// may read it.
type File struct {
	Dir  string `json:"dir"`  // a name in Journal.Dirs
	Name string `json:"name"` // without separators
	Data []byte `json:"data"`
}

// record is the content of a record.
type record struct {
	Files []File `json:"files"`
}

// lockWait bounds the wait for another process, which has the lock for a few writes.
const lockWait = 10 * time.Second

// maxRecord is the maximum size of a record in bytes.
const maxRecord = 1 << 20

// Write makes a change: after an error before the record is complete nothing is
// changed, after a later one Finish writes the rest.
func (j Journal) Write(ctx context.Context, files ...File) error {
	b, err := json.Marshal(record{files})
	if err != nil {
		return diag.New(diag.Internal, "recording a change: %w", err)
	}
	defer clear(b)
	if _, err := j.parse(b); err != nil {
		return err
	}
	l, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	if err := j.finish(); err != nil {
		return err
	}
	dir, name := locate(j.Record)
	if err := dir.Write(name, b, 0o600); err != nil {
		return err
	}
	return j.apply(files)
}

// locate returns the directory of a file as a base for writing, and its name.
func locate(file string) (atomicfile.Base, string) {
	return atomicfile.Private(filepath.Dir(file)), filepath.Base(file)
}

// Pending reports whether there is a record: a change that was killed or is being
// made.
func (j Journal) Pending() bool {
	_, err := os.Lstat(j.Record)
	return err == nil
}

// Finish writes the rest of a change that was killed. It waits for a process that is
// making one.
func (j Journal) Finish(ctx context.Context) error {
	l, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Release()
	return j.finish()
}

func (j Journal) lock(ctx context.Context) (*filelock.Lock, error) {
	dir, name := locate(j.Lock)
	l, err := dir.LockWithin(ctx, name, lockWait)
	if err != nil {
		return nil, diag.Doing("recording a change", err)
	}
	return l, nil
}

// finish applies the record, if there is one. The caller has the lock.
func (j Journal) finish() error {
	fi, err := os.Lstat(j.Record)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return diag.New(diag.FileSystemError, "reading an unfinished change: %w", err)
	case !fi.Mode().IsRegular() || fi.Size() > maxRecord:
		return j.bad("it is not a file that rye wrote")
	}
	b, err := openat.ReadRegular(j.Record, maxRecord)
	if err != nil {
		return diag.New(diag.FileSystemError, "reading an unfinished change: %w", err)
	}
	defer clear(b)
	files, err := j.parse(b)
	if err != nil {
		return err
	}
	return j.apply(files)
}

// parse returns the files of a record, all of them below Dirs.
func (j Journal) parse(b []byte) ([]File, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, j.bad("%v", err)
	}
	for _, f := range r.Files {
		if j.Dirs[f.Dir] == "" ||
			f.Name != filepath.Base(f.Name) ||
			f.Name == "." ||
			f.Name == ".." ||
			f.Name == string(filepath.Separator) {
			return nil, j.bad("%q in %q is not a name of a file", f.Name, f.Dir)
		}
	}
	return r.Files, nil
}

func (j Journal) bad(format string, args ...any) error {
	return diag.New(
		diag.FileSystemError,
		"reading an unfinished change, %s: "+format,
		append([]any{j.Record}, args...)...,
	).
		WithReason("journal").WithDetail("path", j.Record)
}

// apply writes the files in order and removes the record.
func (j Journal) apply(files []File) error {
	for _, f := range files {
		err := atomicfile.Private(j.Dirs[f.Dir]).Write(f.Name, f.Data, 0o600)
		if err != nil {
			return err
		}
	}
	// A loss of power can bring a removed file back. It must not be this change, which
	// would replace what was written after it.
	dir, name := locate(j.Record)
	err := dir.Write(name, []byte("{}\n"), 0o600)
	if err == nil {
		err = dir.Remove(name)
	}
	if err != nil {
		return diag.Doing("removing the record of a finished change", err)
	}
	return nil
}
