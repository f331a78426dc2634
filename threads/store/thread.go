package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Thread describes a thread at its start.
type Thread struct {
	ID      string
	Project string // the absolute directory
	Kind    string // thread or run
	Ref     string // of the directive or graph
	Digest  string // of its file
	Model   string // the model that it starts with
	Parent  string // "" for a root
	Root    string // "" for a root
	Depth   int64  // levels of threads that it may have below it
	Spawns  int64  // threads that it may have below it
	Name    string // for persons
	// Begins states that the thread has no log yet: one that was admitted must not have
	// been ended meanwhile.
	Begins bool
}

// Budget is what a thread may spend: its own maximum, and the maxima of the user account.
type Budget struct {
	Max policy.USD
	// Keep leaves an existing thread the maximums that it has: it is only settled.
	Keep    bool
	Periods policy.Periods
}

// stateRunning is the state of a thread that has an owner.
const stateRunning = "running"

// Owner is the process that writes the rows of one thread. Another process that takes
// the thread over gets a higher fence; every later write of this one fails then.
// The lock file of a log can be removed, so each write compares the fence, and the log its size
// before each line.
type Owner struct {
	store   *Store
	thread  string
	fence   int64
	periods policy.Periods
}

// Register starts a root thread with a budget, or takes an existing one over to
// continue it. The caller holds the lock of the thread's log, so that no other process
// is its owner. The maximum of an existing thread changes only to one that contains
// what is spent and reserved.
//
// It returns a fence, which every later write carries. The system releases the lock when a
// process dies, so the owner is known without a lease.
func (s *Store) Register(ctx context.Context, th Thread, b Budget) (*Owner, error) {
	o := &Owner{store: s, thread: th.ID, periods: b.Periods}
	err := s.write(ctx, "registering a thread in", func(t *tx) error {
		if th.Begins {
			if err := t.begins(th.ID); err != nil {
				return err
			}
		}
		err := t.QueryRow("UPDATE threads SET fence = fence + 1, state = ?, reason = '', ended = 0 WHERE id = ? RETURNING fence", stateRunning, th.ID).Scan(&o.fence)
		switch {
		case err == nil:
			if err = s.noteProject(th.Project); err == nil { // a store of an earlier version has no list
				err = t.reactivate(th.ID, b)
			}
			if err == nil && !b.Keep {
				// A child keeps the limits of its start.
				_, err = t.Exec("UPDATE threads SET depth = ?, spawns = ? WHERE id = ? AND parent = ''", th.Depth, th.Spawns, th.ID)
			}
		case errors.Is(err, sql.ErrNoRows):
			o.fence = 1
			if err = s.noteProject(th.Project); err == nil {
				err = t.insertThread(th, stateRunning, b.Max)
			}
		}
		if err == nil {
			err = s.numberThread(t, th)
		}
		if err != nil {
			return err
		}
		return t.lease(th.ID, s.process)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// begins returns an error if a thread that was admitted was ended before its process
// began: the process that admitted it may have been stopped, and a second process starts the
// thread again.
func (t *tx) begins(thread string) error {
	var state string
	err := t.QueryRow("SELECT state FROM threads WHERE id = ?", thread).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && state != Created {
		err = diag.New(diag.ThreadState, "starting the thread %s: it is %s", thread, state).
			WithReason("ended").
			WithDetail("id", thread).
			WithDetail("state", state)
	}
	return err
}

func (t *tx) insertThread(th Thread, state string, most policy.USD) error {
	root := th.Root
	if root == "" {
		root = th.ID
	}
	_, err := t.Exec(`INSERT INTO threads(id, project, kind, ref, digest, parent, root, state, reason, model, created, ended, fence, depth, spawns)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, 0, 1, ?, ?)`, th.ID, th.Project, th.Kind, th.Ref, th.Digest, th.Parent, root, state, th.Model, t.now.UnixMilli(), th.Depth, th.Spawns)
	if err != nil {
		return err
	}
	_, err = t.Exec("INSERT INTO ledger(thread, parent, max, actual, reserved, overspent, status) VALUES(?, ?, ?, 0, 0, 0, 'active')", th.ID, th.Parent, int64(most))
	return err
}

// numberThread gives a thread that is registered its number.
func (s *Store) numberThread(t *tx, th Thread) error {
	if !hasNumber(th.Kind) {
		return nil
	}
	h := Handle{ID: th.ID, Project: th.Project, Waiting: new(string)}
	if th.Kind == "thread" { // a run was numbered with its name when it began
		h.Name = &th.Name
	}
	_, err := s.numbered(t, h)
	return err
}

// reactivate permits a thread that exists to spend again.
func (t *tx) reactivate(thread string, b Budget) error {
	a, err := t.account(thread)
	if err != nil {
		return err
	}
	most := b.Max
	if b.Keep {
		most = a.Max
	}
	switch {
	case a.parent == "":
	case a.status == released:
		return t.reopen(thread, a, most)
	case most != a.Max:
		return diag.New(diag.ThreadState, "registering the thread %s: its maximum is what its parent reserved, %s USD", thread, a.Max).WithDetail("id", thread)
	}
	if least := a.Actual + a.Reserved - a.Overspent; most < least {
		balance := a.balance()
		balance.Max = most
		return exceeded("continuing", thread, balance, least)
	}
	_, err = t.Exec("UPDATE ledger SET max = ?, status = 'active' WHERE thread = ?", int64(most), thread)
	return err
}

// write runs do in a transaction if no other process has taken the thread over.
func (o *Owner) write(ctx context.Context, doing string, do func(*tx) error) error {
	return o.store.write(ctx, doing, func(t *tx) error {
		var fence int64
		switch err := t.QueryRow(fenceQuery, o.thread).Scan(&fence); {
		case errors.Is(err, sql.ErrNoRows):
			return notFound(o.thread)
		case err != nil:
			return err
		case fence != o.fence:
			return diag.New(diag.ThreadState, "%s the store: another process has taken over the thread %s", doing, o.thread).
				WithReason(takenOver).WithDetail("id", o.thread)
		}
		return do(t)
	})
}

func notFound(thread string) error {
	return diag.New(diag.ThreadNotFound, "reading the store of threads: it has no thread %s", thread).
		WithReason("no_thread").
		WithDetail("id", thread)
}
