package store

import (
	"context"
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Created is the state of a thread that was admitted and has no process yet.
const Created = "created"

// Share is what a thread may use together with all threads below it.
type Share struct {
	Spend  policy.USD
	Depth  int64 // levels of threads below it
	Spawns int64 // threads below it
}

// Terms state how the money that a thread has left is divided.
type Terms struct {
	Keep  policy.USD // for the next call of the thread itself: no child gets it
	Calls int64      // that start a thread, this one included: each gets an equal part of the rest
	Least policy.USD // that the first call of the child can cost: it gets no less
}

// Part returns the share of a child in the money that its parent has left, if it asks for ask.
// ok is false if that does not pay its first call.
func (m Terms) Part(left, ask policy.USD) (part policy.USD, ok bool) {
	left = max(0, left-m.Keep)
	least := min(ask, m.Least)
	part = max(left/policy.USD(max(1, m.Calls)), least)
	return min(part, ask), part <= left && (ask == 0 || left > 0)
}

// Spawn admits a child of this thread that will have a process of its own: in one
// transaction it checks the depth, the spawns of every thread above, how many threads
// run, and reserves what the child may spend. The child gets the smaller of ask and of the
// rest that the threads above it have, which terms divide. Register takes it over; Discard
// removes it again. The error is LIMIT_EXCEEDED or BUDGET_EXCEEDED with the detail limit, and
// retryable if only the number of running threads is in the way, or the money that running
// children of the thread hold.
//
// depth and spawns are columns that the admitting transaction writes; the message and the token
// of the process do not widen them. A child also has at most the duration that its parent has
// left.
func (o *Owner) Spawn(
	ctx context.Context,
	child Thread,
	ask Share,
	terms Terms,
	running policy.Concurrency,
) (got Share, err error) {
	err = o.write(ctx, "starting a child in", func(t *tx) error {
		switch _, err := t.account(child.ID); {
		case err == nil:
			return diag.New(diag.ThreadState, "starting the thread %s: it exists", child.ID).WithDetail("id", child.ID)
		case diag.CodeOf(err) != diag.ThreadNotFound:
			return err
		}
		if err := t.free(o.thread, running); err != nil {
			return err
		}
		if got, err = t.share(o.thread, ask, terms); err != nil {
			return err
		}
		child.Parent = o.thread
		child.Depth = got.Depth
		child.Spawns = got.Spawns
		if _, err := t.reserve(reservation{
			id:      child.ID,
			thread:  o.thread,
			kind:    kindChild,
			child:   child.ID,
			amount:  got.Spend,
			created: t.now,
		}); err != nil {
			return err
		}
		err := t.QueryRow("SELECT root FROM threads WHERE id = ?", o.thread).Scan(&child.Root)
		if err != nil {
			return err
		}
		if err := t.insertThread(child, Created, got.Spend); err != nil {
			return err
		}
		if err := o.store.numberThread(t, child); err != nil {
			return err
		}
		if err := t.countSpawn(o.thread, 1); err != nil {
			return err
		}
		return t.lease(child.ID, o.store.process)
	})
	if err != nil {
		return Share{}, err
	}
	return got, nil
}

// free returns an error if as many threads run as may.
func (t *tx) free(parent string, most policy.Concurrency) error {
	for _, x := range []struct {
		limit string
		most  int64
		query string
	}{
		{"concurrency.threads", most.Threads, "SELECT count(*) FROM threads WHERE kind = 'thread' AND state IN ('created', 'running') AND ?1 != ''"},
		{"concurrency.children", most.Children, "SELECT count(*) FROM threads WHERE kind = 'thread' AND state IN ('created', 'running') AND parent = ?1"},
	} {
		var n int64
		err := t.QueryRow(x.query, parent).Scan(&n)
		if err != nil {
			return err
		}
		if n >= x.most {
			e := spawnExceeded(
				parent,
				x.limit,
				n,
				x.most,
				"%d threads run, and %s is %d",
				n,
				x.limit,
				x.most,
			)
			e.Retryable = true
			return e
		}
	}
	return nil
}

// share returns the part of ask that a thread and the threads above it have left for a child.
func (t *tx) share(parent string, ask Share, terms Terms) (Share, error) {
	var depth, above int64
	err := t.QueryRow("SELECT depth FROM threads WHERE id = ?", parent).Scan(&depth)
	if err != nil {
		return ask, err
	}
	if depth < 1 {
		return ask, spawnExceeded(parent, "depth", 1, depth, "no level of threads is left below it")
	}
	left := int64(-1)
	most := int64(0)
	rows, err := t.Query(upwards+"SELECT spawns, spawned FROM threads WHERE id IN (SELECT id FROM up)", parent)
	if err != nil {
		return ask, err
	}
	defer rows.Close()
	for rows.Next() {
		var may, has int64
		if err := rows.Scan(&may, &has); err != nil {
			return ask, err
		}
		if rest := max(0, may-has); left < 0 || rest < left {
			left = rest
			most = may
			above = has
		}
	}
	if err := rows.Err(); err != nil {
		return ask, err
	}
	if left < 1 {
		return ask, spawnExceeded(parent, "spawns", above+1, most, "%d of %d threads were started", above, most)
	}
	a, err := t.account(parent)
	if err != nil {
		return ask, err
	}
	part, ok := terms.Part(a.Left(), ask.Spend)
	if !ok && a.status == active {
		return ask, t.unpaid(parent, a, ask, terms)
	}
	return Share{Spend: part, Depth: min(ask.Depth, depth-1), Spawns: min(ask.Spawns, left-1)}, nil
}

// unpaid returns the error for a child whose first call the rest does not pay. It is
// retryable while a child of the thread runs, because what it does not spend goes back. A
// suspended child can hold its money for days.
func (t *tx) unpaid(parent string, a account, ask Share, terms Terms) error {
	least := min(ask.Spend, terms.Least)
	e := exceeded("starting a thread of", parent, a.balance(), least+terms.Keep)
	e.Message += fmt.Sprintf(", %s for the first call of the new thread and %s for the next call of the one that starts it", least, terms.Keep)
	e.
		WithDetail("first_call", least.String()).
		WithDetail("kept", terms.Keep.String())
	err := t.QueryRow("SELECT count(*) > 0 FROM threads t JOIN reservations r ON r.child = t.id AND r.thread = ?1"+
		" WHERE t.parent = ?1 AND t.state IN ('created', 'running') AND r.status = 'open' AND r.amount > 0", parent).Scan(&e.Retryable)
	if err != nil {
		return err
	}
	return e
}

// upwards names a thread and every thread above it.
const upwards = "WITH RECURSIVE up(id) AS (VALUES(?1) UNION SELECT t.parent FROM threads t JOIN up ON t.id = up.id WHERE t.parent != '') "

// countSpawn adds to what a thread and every thread above it have started.
func (t *tx) countSpawn(parent string, n int64) error {
	_, err := t.Exec(upwards+"UPDATE threads SET spawned = spawned + ?2 WHERE id IN (SELECT id FROM up)", parent, n)
	return err
}

// countNode counts a thread that the node of a run starts, which has checked the number. A
// summary, which a thread starts in its own process, does not count.
func (t *tx) countNode(parent, kind string) error {
	var of string
	err := t.QueryRow("SELECT kind FROM threads WHERE id = ?", parent).Scan(&of)
	if err != nil || of != "run" || kind != "thread" {
		return err
	}
	return t.countSpawn(parent, 1)
}

func spawnExceeded(thread, limit string, value, most int64, format string, args ...any) *diag.Error {
	return diag.New(diag.LimitExceeded, "starting a thread of "+thread+": "+format, args...).
		WithDetail("id", thread).
		WithDetail("limit", limit).
		WithDetail("value", value).
		WithDetail("max", most)
}

// Discard removes a child whose process did not begin: nothing of it stays. A child that
// a process has taken over is left alone.
func (o *Owner) Discard(ctx context.Context, child string) error {
	return o.write(ctx, "discarding a child in", func(t *tx) error {
		var owned bool
		err := t.QueryRow("SELECT count(*) > 0 FROM threads WHERE id = ? AND parent = ? AND state = ?", child, o.thread, Created).Scan(&owned)
		if err != nil || !owned {
			return err
		}
		a, err := t.account(child)
		if err != nil {
			return err
		}
		for _, change := range []struct {
			query string
			args  []any
		}{
			{"DELETE FROM reservations WHERE thread = ? AND child = ? AND status = 'open'", []any{a.parent, child}},
			{"UPDATE ledger SET reserved = reserved - ? WHERE thread = ?", []any{int64(a.Max), a.parent}},
			{"DELETE FROM ledger WHERE thread = ?", []any{child}},
			{"DELETE FROM tokens WHERE thread = ?", []any{child}},
			{"DELETE FROM threads WHERE id = ?", []any{child}},
			{"DELETE FROM handles WHERE id = ?", []any{child}},
		} {
			_, err := t.Exec(change.query, change.args...)
			if err != nil {
				return err
			}
		}
		return t.countSpawn(o.thread, -1)
	})
}

// Share returns the limits that a thread shares with all threads below it, and their use.
func (s *Store) Share(ctx context.Context, thread string) (out Share, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		a, err := t.account(thread)
		if err != nil {
			return err
		}
		out.Spend = a.Max
		return t.QueryRow("SELECT depth, spawns FROM threads WHERE id = ?", thread).Scan(&out.Depth, &out.Spawns)
	})
	return out, err
}

// Reaches reports whether from is the thread to, or is above it in the tree of threads that
// started each other.
func (s *Store) Reaches(ctx context.Context, from, to string) (yes bool, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		return t.QueryRow(upwards+"SELECT count(*) > 0 FROM up WHERE id = ?2", to, from).Scan(&yes)
	})
	return yes, err
}

// Children returns the threads that a thread started, the oldest first.
func (s *Store) Children(ctx context.Context, thread string) (out []Row, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		out, err = t.threads("SELECT "+threadColumns+" WHERE t.parent = ? AND t.kind = 'thread' ORDER BY t.created, t.id", thread)
		return err
	})
	return out, err
}

// Open reports whether a thread has not ended.
func (r *Row) Open() bool {
	return r.State == Created || r.State == stateRunning || r.State == "suspended"
}
