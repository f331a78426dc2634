// Package store keeps what threads of one user account have in common in a database:
// which threads exist, and the ledger of what they spend. A thread reserves the most
// that a call to a model can cost before the call, and records the cost after it, so
// that no number of processes together spends more than a maximum.
//
// The logs of threads are the truth, the database is computed from them. The package
// does not read logs, does not know prices, and does not decide what a thread may do.
//
// Turns and tokens of a thread are in its log, and calls are counted from the reservations. A
// reservation has the model, because hooks and fallbacks call other models than the thread's.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/sqlite"
)

// The files of a store in its directory. No other code may open File: SQLite's locks
// on it belong to the process and end when any descriptor of it is closed.
const (
	File = "store.db"
	gate = "store.gate"
)

// busy is how long a transaction waits for the gate.
const busy = sqlite.Busy

// Params are the parameters of Open. The zero value works.
type Params struct {
	Now func() time.Time
	// Process is the owner of the threads that are registered.
	Process Process
	// Existing makes Open fail with fs.ErrNotExist if the store does not exist.
	Existing bool

	remote func(dir string) (string, error) // for tests
	file   string                           // "" is File
	gated  bool                             // the caller has the gate
}

// Store is an open store. Its methods may be called at the same time.
type Store struct {
	now     func() time.Time
	process Process
	base    atomicfile.Base
	file    string
	gated   bool // this process has the gate already
	mu      sync.Mutex
	db      *sql.DB
	opened  fs.FileInfo // of the file that db has open

	prepared map[string]*sql.Stmt // nil before the first reservation
}

// Dir is the directory of the store below the state directory of a user.
func Dir(state string) string {
	return filepath.Join(state, "threads")
}

// WithExisting calls do with the store of a user account, given its state directory. It does
// nothing if the account has no store.
func WithExisting(
	ctx context.Context,
	state string,
	now func() time.Time,
	do func(*Store) error,
) error {
	if state == "" {
		return nil
	}
	s, err := Open(ctx, Dir(state), Params{Now: now, Existing: true})
	if Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// Open opens the store in a directory, and creates or migrates it where necessary.
func Open(ctx context.Context, dir string, p Params) (*Store, error) {
	if dir == "" {
		return nil, diag.New(diag.FileSystemError, "opening the store of threads: the state directory is not known").WithReason("no_state_directory")
	}
	s := &Store{
		now:     p.Now,
		process: p.Process,
		base:    atomicfile.Private(dir),
		file:    cmp.Or(p.file, File),
		gated:   p.gated,
	}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.opened, err = os.Lstat(s.path()); p.Existing && err != nil {
		return nil, err
	}
	if err := s.local(dir, p.remote); err != nil {
		return nil, err
	}
	if s.db, err = sqlite.Open(s.path()); err != nil {
		return nil, s.failed("opening", err)
	}
	if err := s.migrate(ctx); err != nil {
		_ = s.db.Close()
		return nil, s.failed("opening", err)
	}
	if s.opened == nil { // it is a new one
		if s.opened, err = os.Lstat(s.path()); err != nil {
			_ = s.db.Close()
			return nil, s.failed("opening", err)
		}
	}
	return s, nil
}

// local refuses a directory on a network file system: the locks and the shared memory
// of SQLite do not work between machines.
func (s *Store) local(dir string, ask func(string) (string, error)) error {
	if err := s.base.MkdirAll("."); err != nil {
		return err
	}
	if ask == nil {
		ask = remote
	}
	name, err := ask(dir)
	switch {
	case err != nil:
		return diag.New(diag.FileSystemError, "opening the store of threads: asking for the file system of %s: %w", dir, err)
	case name != "":
		return diag.New(diag.FileSystemError, "opening the store of threads: %s is on a network file system (%s), where several machines could write the store at once",
			dir, name).WithReason("network_file_system").WithDetail("path", dir)
	}
	return nil
}

// Close closes the store.
func (s *Store) Close() error {
	return s.db.Close()
}

func (s *Store) path() string {
	return s.base.Path(cmp.Or(s.file, File))
}

// write runs do in one transaction that no other process interrupts. The gate comes
// first: in SQLite itself, processes poll for its lock, and some wait for long. A
// transaction that has begun is not ended by ctx, so that its outcome is known.
func (s *Store) write(ctx context.Context, doing string, do func(*tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gated {
		return s.failed(doing, s.transact(
			context.WithoutCancel(ctx),
			&sql.TxOptions{},
			do,
		))
	}
	f, err := s.base.OpenFile(gate, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	lock, err := filelock.Wait(bounded, f)
	if err != nil {
		return s.failed(doing, err)
	}
	defer lock.Release()
	if err := s.current(doing); err != nil {
		return err
	}
	return s.failed(doing, s.transact(
		context.WithoutCancel(ctx),
		&sql.TxOptions{},
		do,
	))
}

// current returns an error if the file of the store is not the one that was opened: what
// is written into a file that Rebuild replaced is lost.
func (s *Store) current(doing string) error {
	if s.opened == nil {
		return nil // it is being opened
	}
	now, err := os.Lstat(s.path())
	if err == nil && os.SameFile(now, s.opened) {
		return nil
	}
	out := diag.New(diag.FileSystemError, "%s the store of threads: %s was replaced or removed after this process opened it", doing, s.path()).
		WithReason("store_replaced").WithDetail("path", s.path())
	out.Retryable = true
	return out
}

// read runs do on one unchanging state of the store.
func (s *Store) read(ctx context.Context, doing string, do func(*tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.current(doing); err != nil {
		return err
	}
	return s.failed(doing, s.transact(
		context.WithoutCancel(ctx),
		&sql.TxOptions{ReadOnly: true},
		do,
	))
}

func (s *Store) transact(
	ctx context.Context,
	o *sql.TxOptions,
	do func(*tx) error,
) error {
	begun, err := s.db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	defer begun.Rollback()
	err = do(&tx{begun, s.now().UTC(), s.prepared})
	if err != nil {
		return err
	}
	return begun.Commit()
}

// failed gives an error of the database a code and the path of the store.
func (s *Store) failed(doing string, err error) error {
	var typed *diag.Error
	switch {
	case err == nil || errors.As(err, &typed) || errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, context.Canceled):
		return diag.New(diag.Cancelled, "%s the store of threads: %w", doing, err)
	}
	out := diag.New(diag.FileSystemError, "%s the store of threads %s: %w", doing, s.path(), err).
		WithDetail("path", s.path())
	if sqlite.IsDamaged(err) {
		return diag.New(diag.FileSystemError, "%s the store of threads: %s is damaged: %w", doing, s.path(), err).
			WithReason("store_corrupt").
			WithDetail("path", s.path())
	}
	out.Retryable = sqlite.IsBusy(err)
	return out
}
