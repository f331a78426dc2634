// Package transcript keeps the logs of threads and of runs of graphs: one line for
// each event, chained by hashes, with checkpoints that the runtime key of the user
// account signs. The log is the truth about a run; its state is what its lines state.
//
// One process at a time writes a log: it has the file lock for its whole life. The
// package does not know which events exist or what they mean, starts nothing, and
// makes no keys.
package transcript

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/chainlog"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/heads"
)

// The files of a log in its directory.
const (
	File         = "transcript.jsonl"
	HeadFile     = "transcript.head"
	LockFile     = "lock"
	ArtifactsDir = "artifacts"
)

// EventCheckpoint is the only event that this package writes by itself.
const EventCheckpoint = "checkpoint"

// checkpointEvery is the number of lines after which a checkpoint is written.
const checkpointEvery = 32

// Params are the parameters of Create and Open.
type Params struct {
	Project string // the absolute directory that contains .ai
	ID      string
	Signer  sign.Signer // the runtime key
	Now     func() time.Time
	Keys    Keys // which keys sign checkpoints; for Open and Verify
	// Heads is the directory with the newest head of each log of this user account; "" keeps none.
	Heads string
	// Redact removes secret values from the data of every line. It may be nil.
	Redact func(data []byte) []byte
	// Written is called with each line after it was written. It may be nil.
	Written func(*Line)
}

// Dir is the directory of all logs below a project's directory.
const Dir = ".ai/threads"

// Base returns the base for the files of a log. Its directories have mode 0700.
func Base(project, id string) atomicfile.Base {
	return atomicfile.Project(project).Below(Dir + "/" + id).Mode(0o700)
}

func (p *Params) base() atomicfile.Base {
	return Base(p.Project, p.ID)
}

// Keys returns the public half of a runtime key of this user account.
type Keys func(sign.Fingerprint) (public []byte, ok bool)

// Log is a log that this process writes. Several goroutines may call its methods: a
// thread and the graph of its loop have one log.
// No checkpoint is needed after each node of a graph: the sandbox hides .ai/threads from every
// tool, and a person who can write there can also answer questions.
type Log struct {
	p      Params
	file   *os.File
	lock   *filelock.Lock
	newest *heads.Record // nil if none is kept

	mu     sync.Mutex // of the rest
	head   chainlog.Head
	signed int64 // the sequence number of the last checkpoint
	dirty  bool  // lines are not yet on the disk
	broken error // an append failed: the end of the file is not known
}

// Create creates a log in a new directory. A log without a whole line, which a stopped
// process left, is used: nothing was recorded in it.
func Create(ctx context.Context, p Params) (*Log, error) {
	l, err := begin(ctx, p)
	if err != nil {
		return nil, err
	}
	if err = l.create(ctx); err != nil {
		_ = l.Close()
		return nil, diag.Doing("creating the log of "+p.ID, err)
	}
	l.head = format(p.ID).Start()
	return l, nil
}

// create makes the files of a new log. The log and its origin wait for the disk at the same
// time, if no stopped process left a log that may have lines.
func (l *Log) create(ctx context.Context) error {
	if err := unrecorded(l.p); err != nil {
		return err
	}
	base := l.p.base()
	var claimed chan error
	_, err := base.Stat(File)
	if errors.Is(err, fs.ErrNotExist) {
		claimed = make(chan error, 1)
		go func() { claimed <- l.claim(ctx) }()
	}
	err = base.Create(File, nil, 0o600)
	if err == nil || errors.Is(err, fs.ErrExist) {
		if l.file, err = base.OpenFile(File, os.O_RDWR, 0); err == nil {
			err = l.unused()
		}
	}
	if claimed != nil {
		unclaimed := <-claimed
		return cmp.Or(err, unclaimed)
	}
	if err != nil {
		return err
	}
	return l.claim(ctx)
}

// unused removes the beginning of a first line, and refuses a log with a whole line.
func (l *Log) unused() error {
	b, err := io.ReadAll(io.LimitReader(l.file, MaxLine+1))
	switch {
	case err != nil || len(b) == 0:
		return err
	case bytes.IndexByte(b, '\n') >= 0 || len(b) > MaxLine:
		return fs.ErrExist
	}
	return l.file.Truncate(0)
}

// lockWait is how long Open waits for a process that is about to end.
const lockWait = 200 * time.Millisecond

// begin takes the lock of a log.
func begin(ctx context.Context, p Params) (*Log, error) {
	if p.Now == nil {
		p.Now = time.Now
	}
	l := &Log{p: p}
	var err error
	if l.lock, err = p.base().LockWithin(ctx, LockFile, lockWait); err == nil &&
		p.Heads != "" {
		if l.newest, err = heads.Open(ctx, p.Heads, p.ID, p.Project, lockWait); err != nil {
			_ = l.lock.Release()
		}
	}
	var held *filelock.Held
	switch {
	case errors.As(err, &held):
		return nil, diag.New(diag.ThreadState, "opening the log of %s: it is running: %w", p.ID, err).
			WithReason("running").
			WithDetail("id", p.ID).
			WithDetail("state", "running").
			WithDetail("pid", held.PID)
	case err != nil:
		return nil, diag.Doing("opening the log of "+p.ID, err)
	}
	return l, nil
}

// Open opens an existing log for writing. It verifies all of it and removes an
// unfinished last line, whose size it returns. lines are all lines of the log.
func Open(ctx context.Context, p Params) (l *Log, lines []Line, torn int64, err error) {
	if l, err = begin(ctx, p); err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = l.Close()
			l = nil
		}
	}()
	if l.file, err = p.base().OpenFile(File, os.O_RDWR, 0); err != nil {
		return l, nil, 0, diag.Doing("opening the log of "+p.ID, err)
	}
	rep, err := verify(ctx, l.file, p)
	if err == nil {
		err = rep.Err()
	}
	if err == nil {
		err = rep.Own()
	}
	if err != nil {
		return l, nil, 0, err
	}
	l.head = rep.head
	l.signed = rep.Signed
	if rep.Torn > 0 {
		if err = l.file.Truncate(l.head.Size); err != nil {
			return l, nil, 0, diag.New(
				diag.FileSystemError,
				"removing the unfinished last line of %s: %w",
				p.base().Path(File),
				err,
			)
		}
	}
	if l.newest != nil && rep.ahead { // its process was stopped, or an older version wrote it
		l.dirty = true
		if err = l.Flush(); err != nil {
			return l, nil, 0, err
		}
	}
	return l, rep.Lines, rep.Torn, nil
}

// Abandon makes every later write fail with an error: another process writes the log.
func (l *Log) Abandon(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// Close releases the log without a checkpoint.
func (l *Log) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	if l.newest != nil {
		err = errors.Join(err, l.newest.Close())
	}
	return errors.Join(err, l.lock.Release())
}

// ID returns the id of the log.
func (l *Log) ID() string {
	return l.p.ID
}

// Seq returns the sequence number of the last line.
func (l *Log) Seq() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head.Seq
}

// Last returns the hash of the last line.
func (l *Log) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head.Last
}

// Append appends one event, whose data becomes a JSON object. It does not wait for
// the disk.
func (l *Log) Append(event string, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(event, data, false)
}

// Commit appends one event and returns when it is on the disk, with all lines before.
func (l *Log) Commit(ctx context.Context, event string, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(event, data, true); err != nil {
		return err
	}
	if l.head.Seq-l.signed >= checkpointEvery {
		return l.sign(ctx, nil, l.head, 0)
	}
	return nil
}

// Checkpoint writes a checkpoint after a turn of a thread, unless the last line is one.
func (l *Log) Checkpoint(ctx context.Context, turn int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed == l.head.Seq {
		return nil
	}
	return l.sign(ctx, nil, l.head, turn)
}

// Flush returns when every line is on the disk.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dirty {
		return nil
	}
	if err := l.file.Sync(); err != nil {
		return l.failed(err)
	}
	l.dirty = false
	return l.record()
}

// record records the head outside of the project. All lines are on the disk: a log that a loss of power shortened must not
// end before its record.
func (l *Log) record() error {
	if l.newest == nil {
		return nil
	}
	if err := l.newest.Set(l.head); err != nil {
		l.broken = err
		return err
	}
	return nil
}

// Rest appends an event after which no process writes the log, and a checkpoint, in one write:
// a log that has one has the other.
func (l *Log) Rest(ctx context.Context, event string, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, read, err := l.line(event, data, l.head)
	if err != nil {
		return err
	}
	return l.sign(ctx, line, l.head.After(line), 0, read)
}

// sign appends text, which has the lines before and ends at h, and a checkpoint of h.
// turn is 0 outside of threads.
func (l *Log) sign(
	ctx context.Context,
	text []byte,
	h chainlog.Head,
	turn int64,
	before ...*Line,
) error {
	sig, err := l.p.Signer.Sign(ctx, statement(l.p.ID, h))
	if err != nil {
		return err
	}
	c := checkpoint{
		Turn:      turn,
		Seq:       h.Seq,
		Size:      h.Size,
		Last:      h.Last,
		Key:       sign.FingerprintOf(l.p.Signer.Public()).String(),
		Signature: encoding.EncodeToString(sig),
	}
	line, read, err := l.line(EventCheckpoint, c, h)
	if err != nil {
		return err
	}
	err = l.put(slices.Concat(text, line), true)
	if err != nil {
		return err
	}
	l.head = h.After(line)
	l.signed = l.head.Seq
	if err := l.record(); err != nil {
		return err
	}
	l.announce(append(before, read)...)
	err = l.p.base().Replace(HeadFile, l.head.Render(), 0o600)
	if err != nil {
		return diag.Doing("recording the end of the log of "+l.p.ID, err)
	}
	return nil
}

func (l *Log) write(event string, data any, sync bool) error {
	line, read, err := l.line(event, data, l.head)
	if err != nil {
		return err
	}
	if err := l.put(line, sync); err != nil {
		return err
	}
	l.head = l.head.After(line)
	if sync {
		if err := l.record(); err != nil {
			return err
		}
	}
	l.announce(read)
	return nil
}

// announce calls Written with each line that was written.
func (l *Log) announce(lines ...*Line) {
	if l.p.Written == nil {
		return
	}
	for _, line := range lines {
		l.p.Written(line)
	}
}

// put writes text at the end of the file.
func (l *Log) put(text []byte, sync bool) error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.owned(); err != nil {
		l.broken = err
		return err
	}
	err := chainlog.Write(l.file, text, l.head.Size, sync)
	if err != nil {
		return l.failed(err)
	}
	l.dirty = !sync
	return nil
}

// owned refuses to write over the lines of a process that has taken the log over. The
// lock prevents it unless the lock file is removed.
func (l *Log) owned() error {
	info, err := l.file.Stat()
	if err != nil || info.Size() == l.head.Size {
		return nil // a file that cannot be read cannot be written either
	}
	return diag.New(
		diag.ThreadState,
		"writing the log of %s: another process has taken over the thread: the log has %d bytes instead of %d",
		l.p.ID,
		info.Size(),
		l.head.Size,
	).
		WithReason("taken_over").WithDetail("id", l.p.ID)
}

func (l *Log) failed(err error) error {
	l.broken = diag.New(diag.FileSystemError, "writing the log of %s: %w", l.p.ID, err).
		WithDetail("path", l.p.base().Path(File))
	return l.broken
}

// line renders the line after h, and returns it as a reader will see it. Values that are
// too large become artifacts.
func (l *Log) line(
	event string,
	data any,
	h chainlog.Head,
) ([]byte, *Line, error) {
	raw, err := jsonx.Marshal(data)
	if err != nil {
		return nil, nil, diag.New(diag.Internal, "recording the event %s: %w", event, err)
	}
	if l.p.Redact != nil {
		raw = l.p.Redact(raw)
	}
	if err := reserved(event, raw); err != nil {
		return nil, nil, err
	}
	if len(raw) > maxData {
		if raw, err = l.spill(raw); err != nil {
			return nil, nil, err
		}
	}
	line := Line{
		Seq:   h.Seq + 1,
		Time:  l.p.Now().UTC().Format(layout),
		Event: event,
		Data:  raw,
		Prev:  h.Last,
	}
	b, err := line.render()
	if err == nil {
		line, err = parse(b)
	}
	if err != nil {
		return nil, nil, diag.New(diag.Internal, "recording the event %s: %w", event, err)
	}
	return b, &line, nil
}

// Named returns a Log with an id and without a file, to read what others wrote.
func Named(id string) *Log {
	return &Log{p: Params{ID: id}}
}
