package auditlog

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/filelock"
)

const recording = "recording the signature"

// Append appends all entries or none, and returns when they are on the disk. The
// caller writes the signed files afterwards. A lock file serialises processes.
//
// A line that a stopped process did not finish is removed first. Append returns
// TRANSCRIPT_BROKEN if the end of the log was cut or altered.
func (l *Log) Append(ctx context.Context, made []Entry) error {
	if len(made) == 0 {
		return nil
	}
	if err := l.requireDir(recording); err != nil {
		return err
	}
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	f, err := l.open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h, err := l.settle(f)
	if err != nil {
		return err
	}
	text, h, err := l.lines(h, made)
	if err != nil {
		return err
	}
	err = chainlog.Write(f, text, h.Size-int64(len(text)), true)
	if err != nil {
		return diag.New(diag.FileSystemError, "%s: %w", recording, err)
	}
	return l.writeHead(h)
}

// lock waits for other processes that sign. Each has the lock for a few writes
// only, so one that has it for longer is stopped or hostile.
func (l *Log) lock(ctx context.Context) (*filelock.Lock, error) {
	lock, err := l.base().LockWithin(ctx, lockFile, l.p.Wait)
	var held *filelock.Held
	switch {
	case errors.As(err, &held):
		return nil, diag.New(diag.FileSystemError, "%s: %w, and was not released within %s; nothing was signed", recording, err, l.p.Wait).
			WithReason("lock_held").WithDetail("holder", held.Holder())
	case err != nil:
		return nil, diag.Doing(recording, err)
	}
	return lock, nil
}

// open opens the log for writing. It creates the file if it does not exist.
func (l *Log) open() (*os.File, error) {
	f, err := l.base().OpenFile(File, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err = l.base().Create(File, nil, 0o600); err == nil {
			f, err = l.base().OpenFile(File, os.O_RDWR, 0)
		}
	}
	if err != nil {
		return nil, diag.Doing(recording, err)
	}
	fi, err := f.Stat()
	if err == nil && fi.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600) // the entries are private: they list what the user signs
	}
	return f, nil
}

// settle compares the end of the log with the head and returns the actual end. It
// removes an unfinished last line.
func (l *Log) settle(f *os.File) (chainlog.Head, error) {
	h, _, err := l.readHead()
	if err != nil {
		return h, err
	}
	end, torn, err := format().Settle(f, h)
	switch {
	case errors.Is(err, chainlog.ErrCut), errors.Is(err, chainlog.ErrAltered):
		return h, l.broken(err.Error())
	case err == nil && torn > 0:
		err = f.Truncate(end.Size)
	}
	if err != nil {
		return h, diag.New(diag.FileSystemError, "%s: %w", recording, err)
	}
	return end, nil
}

func (l *Log) broken(how string) error {
	return diag.New(diag.TranscriptBroken, "%s: the log %s %s after it was last written, so nothing was signed", recording, l.Path(), how).
		WithReason("log_changed")
}

// lines renders the entries that follow h.
func (l *Log) lines(h chainlog.Head, made []Entry) ([]byte, chainlog.Head, error) {
	var text bytes.Buffer
	now := l.p.Now().UTC().Format(layout)
	for _, e := range made {
		e.Seq = h.Seq + 1
		e.Time = now
		e.Prev = h.Last
		line, err := e.render()
		if err != nil {
			return nil, h, diag.New(diag.Internal, "%s of %s %s: %w", recording, e.Kind, e.ID, err)
		}
		text.Write(line)
		h = h.After(line)
	}
	return text.Bytes(), h, nil
}
