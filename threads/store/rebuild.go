package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/policy"
)

// Entry is all that a store knows about one thread, apart from its process and the times
// of its process. What the threads below it cost is not a part: a new store adds it up.
type Entry struct {
	Thread
	State, Reason  string
	Created, Ended time.Time
	Spawned        int64 // threads that were started below it
	Max            policy.USD
	// Pays is the thread that pays it: its parent, or one above if that ended earlier.
	Pays     string
	Released bool // its account is closed
	Calls    []Call
}

// Call is one reservation for a call to a model.
type Call struct {
	ID, Model       string
	Amount, Settled policy.USD
	Assumed, Open   bool
	Created         time.Time
}

// Content is the content of a store that Rebuild writes.
type Content struct {
	Entries []Entry  // each after the one that pays it
	Handles []Handle // of these entries, and of the logs without an account of their own
}

// newFile is the store that Rebuild writes.
const newFile = "store.new.db"

// Entries returns all threads of the store, without reservations that were released.
func (s *Store) Entries(ctx context.Context) (out []Entry, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		rows, err := t.Query(`SELECT t.id, t.project, t.kind, t.ref, t.digest, t.parent, t.root, t.state, t.reason, t.model, t.created, t.ended, t.depth, t.spawns, t.spawned,
			l.max, l.parent, l.status = 'released' FROM threads t JOIN ledger l ON l.thread = t.id ORDER BY t.created, t.id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var e Entry
			var created, ended int64
			err := rows.Scan(&e.ID, &e.Project, &e.Kind, &e.Ref, &e.Digest, &e.Parent, &e.Root, &e.State, &e.Reason, &e.Model, &created, &ended, &e.Depth, &e.Spawns, &e.Spawned,
				&e.Max, &e.Pays, &e.Released)
			if err != nil {
				return err
			}
			e.Created, e.Ended = time.UnixMilli(created), time.UnixMilli(ended)
			out = append(out, e)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for i := range out {
			if out[i].Calls, err = t.calls(out[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func (t *tx) calls(thread string) (out []Call, err error) {
	rows, err := t.Query("SELECT "+reservationColumns+" FROM reservations WHERE thread = ? AND kind = 'call' AND status != 'released' ORDER BY created, id", thread)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanReservation(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, Call{
			ID:      r.id,
			Model:   r.model,
			Amount:  r.amount,
			Settled: r.settled,
			Assumed: r.assumed,
			Open:    r.status == open,
			Created: r.created,
		})
	}
	return out, rows.Err()
}

// Rebuild replaces what the store in a directory has by a content. While it works, no other
// process writes the store; content is called then, with the former store, nil if that does not exist or is damaged. A store
// that can be read is changed in one transaction: other processes may have it open.
func Rebuild(
	ctx context.Context,
	dir string,
	p Params,
	content func(old *Store) (Content, error),
) error {
	s := &Store{base: atomicfile.Private(dir)}
	if err := s.local(dir, p.remote); err != nil {
		return err
	}
	f, err := s.base.OpenFile(gate, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, busy)
	defer cancel()
	lock, err := filelock.Wait(bounded, f)
	if err != nil {
		return s.failed("rebuilding", err)
	}
	defer lock.Release()

	p.gated = true
	err = refill(ctx, dir, p, content)
	if err == nil || !Missing(err) && !isDamaged(err) {
		return err
	}
	list, err := content(nil)
	if err != nil {
		return err
	}
	for _, name := range []string{newFile, newFile + "-wal", newFile + "-shm"} { // of a process that was stopped
		err := s.base.Remove(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	p.Existing = false
	p.file = newFile
	fresh, err := Open(ctx, dir, p)
	if err != nil {
		return err
	}
	if err := fresh.complete(ctx, list); err != nil {
		return err
	}
	return s.replaceBy(newFile)
}

// isDamaged reports whether an error means that a store is not an intact database.
func isDamaged(err error) bool {
	e := diag.Typed(err)
	return e != nil && e.Reason == "store_corrupt"
}

// refill replaces the content of the former store.
func refill(ctx context.Context, dir string, p Params, content func(*Store) (Content, error)) error {
	p.Existing = true
	old, err := Open(ctx, dir, p)
	if err != nil {
		return err
	}
	list, err := content(old)
	if err == nil {
		err = old.fill(ctx, list)
	}
	return errors.Join(err, old.Close())
}

// complete fills a new store and closes it, with all that it has in its file. Close alone
// ignores that the file could not be written, for example on a full disk.
func (s *Store) complete(ctx context.Context, list Content) error {
	err := s.fill(ctx, list)
	if err == nil {
		err = s.failed("rebuilding", s.checkpoint(ctx))
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	info, err := os.Lstat(s.path() + "-wal")
	if err == nil && info.Size() > 0 {
		return s.failed("rebuilding", errNotWritten)
	}
	return nil
}

var errNotWritten = errors.New("its log could not be written into its file")

// checkpoint writes the log of the database into its file.
func (s *Store) checkpoint(ctx context.Context) error {
	var held, log, done int
	err := s.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(truncate)").Scan(&held, &log, &done)
	if err == nil && (held != 0 || log != done) {
		err = errNotWritten
	}
	return err
}

// replaceBy puts a file in the place of the store. The log of the former store goes
// first: SQLite would apply it to the new one.
func (s *Store) replaceBy(name string) error {
	for _, suffix := range []string{"-wal", "-shm"} {
		err := s.base.Remove(File + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return s.base.Rename(name, File)
}

// fill replaces what a store has.
func (s *Store) fill(ctx context.Context, c Content) error {
	list := c.Entries
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed("rebuilding", s.transact(context.WithoutCancel(ctx), nil, func(t *tx) error {
		for _, table := range []string{"reservations", "ledger", "threads", "user_spend", "tokens"} {
			if _, err := t.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		sums := sumsOf(list)
		for i := range list {
			err := t.fillThread(&list[i], sums[list[i].ID])
			if err != nil {
				return fmt.Errorf("%s: %w", list[i].ID, err)
			}
		}
		for i := range list {
			err := t.fillReservations(&list[i], sums[list[i].ID])
			if err != nil {
				return fmt.Errorf("%s: %w", list[i].ID, err)
			}
		}
		return s.fillHandles(t, c.Handles)
	}))
}

// sumsOf returns the accounts of threads, of which each follows the one that pays it.
func sumsOf(list []Entry) map[string]*Account {
	sums := map[string]*Account{}
	for i := len(list) - 1; i >= 0; i-- {
		e := &list[i]
		a := sums[e.ID]
		if a == nil {
			a = &Account{}
			sums[e.ID] = a
		}
		a.Max = e.Max
		for _, c := range e.Calls {
			if a.Actual += c.Settled; c.Open {
				a.Reserved += c.Amount
				continue
			}
			a.Overspent += max(0, c.Settled-c.Amount)
		}
		// A thread that was continued after it overspent has a maximum that contains that.
		a.Max = max(a.Max, a.Actual+a.Reserved-a.Overspent)
		if e.Pays == "" {
			continue
		}
		up := sums[e.Pays]
		if up == nil {
			up = &Account{}
			sums[e.Pays] = up
		}
		up.Overspent += a.Overspent
		if e.Released {
			up.Actual += a.Actual
		} else {
			up.Reserved += a.Max
		}
	}
	return sums
}

func (t *tx) fillThread(e *Entry, a *Account) error {
	status := active
	if e.Released {
		status = released
	}
	_, err := t.Exec(`INSERT INTO threads(id, project, kind, ref, digest, parent, root, state, reason, model, created, ended, fence, depth, spawns, spawned)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`, e.ID, e.Project, e.Kind, e.Ref, e.Digest, e.Parent, e.Root, e.State, e.Reason, e.Model,
		e.Created.UnixMilli(), e.Ended.UnixMilli(), e.Depth, e.Spawns, e.Spawned)
	if err == nil {
		_, err = t.Exec("INSERT INTO ledger(thread, parent, max, actual, reserved, overspent, status) VALUES(?, ?, ?, ?, ?, ?, ?)",
			e.ID, e.Pays, int64(a.Max), int64(a.Actual), int64(a.Reserved), int64(a.Overspent), status)
	}
	return err
}

func (t *tx) fillReservations(e *Entry, a *Account) error {
	if e.Pays != "" {
		r := reservation{
			id:      e.ID,
			thread:  e.Pays,
			kind:    kindChild,
			child:   e.ID,
			amount:  a.Max,
			status:  open,
			created: e.Created,
		}
		if e.Released {
			r.status = settled
			r.settled = a.Actual
		}
		if err := t.fillReservation(r); err != nil {
			return err
		}
	}
	for _, c := range e.Calls {
		r := reservation{
			id:      c.ID,
			thread:  e.ID,
			kind:    kindCall,
			model:   c.Model,
			amount:  c.Amount,
			settled: c.Settled,
			assumed: c.Assumed,
			status:  settled,
			created: c.Created,
		}
		held := policy.USD(0)
		if c.Open {
			r.status = open
			held = c.Amount
		}
		if err := t.fillReservation(r); err != nil {
			return err
		}
		for _, p := range periodsOf(c.Created, policy.Periods{}) {
			err := t.addToPeriod(p.name, c.Settled, held)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) fillReservation(r reservation) error {
	_, err := t.Exec("INSERT INTO reservations("+reservationColumns+") VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		r.id, r.thread, r.kind, r.child, r.model, int64(r.amount), int64(r.settled), r.assumed, r.status, r.created.UnixMilli())
	return err
}

// dumped are the columns that Dump writes: the common content of two stores that were made
// from the same logs. It has no processes, no times, which come from the transactions, and no
// reservation for a call that was not sent.
var dumped = []string{
	`SELECT json_object('thread', id, 'project', project, 'kind', kind, 'ref', ref, 'digest', digest, 'parent', parent, 'root', root, 'state', state, 'reason', reason,
		'model', model, 'depth', depth, 'spawns', spawns, 'spawned', spawned) FROM threads ORDER BY id`,
	`SELECT json_object('handle', id, 'project', project, 'number', number, 'name', name, 'waiting', waiting) FROM handles ORDER BY id`,
	`SELECT json_object('account', thread, 'parent', parent, 'max', max, 'actual', actual, 'reserved', reserved, 'overspent', overspent, 'status', status) FROM ledger ORDER BY thread`,
	`SELECT json_object('reservation', id, 'thread', thread, 'kind', kind, 'child', child, 'model', model, 'amount', amount, 'settled', settled, 'assumed', assumed, 'status', status)
		FROM reservations WHERE status != 'released' ORDER BY id`,
	`SELECT json_object('period', period, 'actual', actual, 'reserved', reserved) FROM user_spend ORDER BY period`,
}

// Dump writes what the store has, one JSON object a line.
func (s *Store) Dump(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	err := s.read(ctx, "reading", func(t *tx) error {
		for _, query := range dumped {
			if err := t.dump(query, out); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, out.Flush())
}

func (t *tx) dump(query string, w *bufio.Writer) error {
	rows, err := t.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		_, _ = w.WriteString(line + "\n") // Flush has the error
	}
	return rows.Err()
}

// projectsFile lists the directories of projects that have threads, one JSON string a line:
// a store that is lost cannot name them.
const projectsFile = "projects"

// Projects returns the directories of the projects that have, or had, threads.
func Projects(dir string) (out []string, err error) {
	b, err := openat.ReadRegular(atomicfile.Private(dir).Path(projectsFile), 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.Doing("reading the projects that have threads", err)
	}
	for line := range bytes.Lines(b) {
		var project string
		if err := json.Unmarshal(line, &project); err != nil {
			return nil, diag.New(diag.FileSystemError, "reading the projects that have threads: %s: %w", filepath.Join(dir, projectsFile), err)
		}
		out = append(out, project)
	}
	return out, nil
}

// noteProject adds a project to the list. The caller has the gate.
func (s *Store) noteProject(project string) error {
	if project == "" {
		return nil
	}
	have, err := Projects(s.base.Path("."))
	if err != nil || slices.Contains(have, project) {
		return err
	}
	var b bytes.Buffer
	for _, dir := range append(have, project) {
		line, err := json.Marshal(dir)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return s.base.Replace(projectsFile, b.Bytes(), 0o600)
}
