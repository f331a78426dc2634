package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Child starts a child thread whose maximum is reserved in this thread, or continues one
// that this thread started before. The caller holds the lock of the child's log. A child
// that was released spends again from what its first maximum left: its parent then owes
// the whole maximum again, and no longer what the child spent.
func (o *Owner) Child(ctx context.Context, child Thread, most policy.USD) (*Owner, error) {
	out := &Owner{
		store:   o.store,
		thread:  child.ID,
		fence:   1,
		periods: o.periods,
	}
	err := o.write(ctx, "starting a child in", func(t *tx) error {
		a, err := t.account(child.ID)
		if diag.CodeOf(err) == diag.ThreadNotFound {
			if _, err := t.reserve(reservation{
				id:      child.ID,
				thread:  o.thread,
				kind:    kindChild,
				child:   child.ID,
				amount:  most,
				created: t.now,
			}); err != nil {
				return err
			}
			child.Parent = o.thread
			err := t.QueryRow("SELECT root FROM threads WHERE id = ?", o.thread).Scan(&child.Root)
			if err != nil {
				return err
			}
			if err := t.insertThread(child, stateRunning, most); err != nil {
				return err
			}
			if err := o.store.numberThread(t, child); err != nil {
				return err
			}
			if err := t.countNode(o.thread, child.Kind); err != nil {
				return err
			}
			return t.lease(child.ID, o.store.process)
		}
		switch {
		case err != nil:
			return err
		case a.parent != o.thread:
			return diag.New(diag.ThreadState, "continuing the thread %s: %s did not start it", child.ID, o.thread).
				WithDetail("id", child.ID)
		}
		err = t.QueryRow("UPDATE threads SET fence = fence + 1, state = ?, reason = '', ended = 0 WHERE id = ? RETURNING fence", stateRunning, child.ID).Scan(&out.fence)
		if err == nil && a.status == released {
			err = t.reopen(child.ID, a, most)
		}
		if err == nil {
			err = t.lease(child.ID, o.store.process)
		}
		if err != nil {
			return err
		}
		return t.reactivate(child.ID, Budget{Max: most})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// reopen reserves the maximum of a released child again. The parent paid what the child
// spent; that becomes a part of the reservation.
func (t *tx) reopen(child string, a account, most policy.USD) error {
	parent, err := t.account(a.parent)
	if err != nil {
		return err
	}
	most = max(most, a.Actual)
	parent.Actual -= a.Actual
	switch {
	case parent.status != active:
		return diag.New(diag.ThreadState, "continuing the thread %s: %s has ended", child, a.parent).
			WithReason("ended").
			WithDetail("id", a.parent)
	case most > parent.Left():
		return exceeded("continuing "+child+": reserving for it in", a.parent, parent.balance(), most)
	}
	for _, change := range []struct {
		query string
		args  []any
	}{
		{"UPDATE reservations SET status = 'open', settled = 0, amount = ? WHERE thread = ? AND child = ?", []any{int64(most), a.parent, child}},
		{"UPDATE ledger SET actual = actual - ?, reserved = reserved + ? WHERE thread = ?", []any{int64(a.Actual), int64(most), a.parent}},
		{"UPDATE ledger SET max = ?, status = 'active' WHERE thread = ?", []any{int64(most), child}},
	} {
		_, err := t.Exec(change.query, change.args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Account returns the account of the thread: its maximum and its costs.
func (o *Owner) Account(ctx context.Context) (out Account, err error) {
	err = o.store.read(ctx, "reading", func(t *tx) error {
		a, err := t.account(o.thread)
		out = a.Account
		return err
	})
	return out, err
}

// MaxOf returns the maximum of a child, which a stopped process may have reserved before the
// first line of its log. ok is false if this thread has not started it.
func (o *Owner) MaxOf(ctx context.Context, child string) (most policy.USD, ok bool, err error) {
	err = o.store.read(ctx, "reading", func(t *tx) error {
		err := t.QueryRow("SELECT max FROM ledger WHERE thread = ? AND parent = ?", child, o.thread).Scan(&most)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return most, ok, err
}

// Max returns the maximum of a thread. ok is false if the store does not have it.
func (s *Store) Max(ctx context.Context, thread string) (most policy.USD, ok bool, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		err := t.QueryRow("SELECT max FROM ledger WHERE thread = ?", thread).Scan(&most)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return most, ok, err
}

// End releases the account of a thread that no process runs any more, and does nothing
// if it has none, or if the thread has ended in that state. Its reservations for calls are
// settled before.
func (s *Store) End(ctx context.Context, thread, state, reason string) error {
	return s.write(ctx, "ending a thread in", func(t *tx) error {
		var ended bool
		err := t.QueryRow("SELECT l.status = 'released' AND t.state = ? FROM threads t JOIN ledger l ON l.thread = t.id WHERE t.id = ?", state, thread).Scan(&ended)
		if errors.Is(err, sql.ErrNoRows) || ended {
			return nil
		}
		if err != nil {
			return err
		}
		return t.end(thread, state, reason)
	})
}

// end releases the account of a thread whose owner is gone.
func (t *tx) end(thread, state, reason string) error {
	if err := t.release(thread); err != nil {
		return err
	}
	_, err := t.Exec("UPDATE threads SET fence = fence + 1, state = ?, reason = ?, ended = ?, lease_until = 0 WHERE id = ?", state, reason, t.now.UnixMilli(), thread)
	return err
}
