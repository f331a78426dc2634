package store

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Release ends the account of a thread that reached a state: its parent pays what it
// spent, and gets back the rest of what it reserved. Children that still run are paid
// by the parent of this thread from then on, and by a root itself. Every reservation for a
// call must be settled before. A repeated call sets the state only.
func (o *Owner) Release(ctx context.Context, state, reason string) error {
	return o.write(ctx, "releasing a thread in", func(t *tx) error {
		if err := t.release(o.thread); err != nil {
			return err
		}
		_, err := t.Exec("UPDATE threads SET state = ?, reason = ?, ended = ?, lease_until = 0 WHERE id = ?", state, reason, t.now.UnixMilli(), o.thread)
		return err
	})
}

// Suspend records that a thread is suspended until something wakes it. Its account stays active,
// and what its parent reserved for it stays reserved. Its tokens are revoked: the process
// that wakes it gets a new one. The threads of a chain have one account, in the name of the
// first, and so have their tokens: the tokens of the whole chain are revoked.
func (o *Owner) Suspend(ctx context.Context, reason string) error {
	return o.write(ctx, "suspending a thread in", func(t *tx) error {
		_, err := t.Exec("UPDATE threads SET state = 'suspended', reason = ?, lease_until = 0 WHERE id = ?", reason, o.thread)
		if err != nil {
			return err
		}
		_, err = t.Exec("UPDATE tokens SET revoked = 1 WHERE thread = ?", o.thread)
		return err
	})
}

func (t *tx) release(thread string) error {
	a, err := t.account(thread)
	if err != nil || a.status == released {
		return err
	}
	rows, err := t.openReservations(thread)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.kind == kindCall {
			return diag.New(diag.ThreadState, "releasing the thread %s: its reservation %s for a call is not settled", thread, r.id).WithDetail("id", thread)
		}
	}
	var held reservation
	if a.parent != "" {
		held, err = scanReservation(t.QueryRow("SELECT "+reservationColumns+" FROM reservations WHERE thread = ? AND child = ? AND status = 'open'", a.parent, thread))
		if err != nil {
			return err
		}
		if err := t.payChild(held, a.Actual); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if a.parent == "" {
			break // a root that is resumed must not spend again what its children still may
		}
		if err := t.handUp(r, a.parent); err != nil {
			return err
		}
	}
	_, err = t.Exec("UPDATE ledger SET status = 'released' WHERE thread = ?", thread)
	return err
}

// payChild settles the reservation of a parent for its child. What the child spent
// beyond it was added to overspent of all above when it happened.
// Overspent money makes no room: it is added to all threads above at once, so a reservation
// always fits into the maximum.
func (t *tx) payChild(r reservation, actual policy.USD) error {
	_, err := t.Exec("UPDATE reservations SET status = 'settled', settled = ? WHERE id = ?", int64(actual), r.id)
	if err != nil {
		return err
	}
	_, err = t.Exec("UPDATE ledger SET reserved = reserved - ?, actual = actual + ? WHERE thread = ?", int64(r.amount), int64(actual), r.thread)
	return err
}

// handUp gives the open reservation for a child to the parent of its parent.
func (t *tx) handUp(r reservation, to string) error {
	_, err := t.Exec("UPDATE ledger SET reserved = reserved - ? WHERE thread = ?", int64(r.amount), r.thread)
	if err != nil {
		return err
	}
	_, err = t.Exec("UPDATE ledger SET parent = ? WHERE thread = ?", to, r.child)
	if err != nil {
		return err
	}
	_, err = t.Exec("UPDATE reservations SET thread = ? WHERE id = ?", to, r.id)
	if err != nil {
		return err
	}
	_, err = t.Exec("UPDATE ledger SET reserved = reserved + ? WHERE thread = ?", int64(r.amount), to)
	return err
}

// openReservations returns the open reservations of a thread.
func (t *tx) openReservations(thread string) (out []reservation, err error) {
	rows, err := t.Query("SELECT "+reservationColumns+" FROM reservations WHERE thread = ? AND status = 'open' ORDER BY created, id", thread)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanReservation(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Outcome is what the log of a thread states about a call whose reservation is open.
type Outcome struct {
	Sent     bool       // the request is in the log
	Answered bool       // the answer is in the log, with its cost
	Cost     policy.USD // of an answered call
	Assumed  bool       // the service did not report the cost
}

// Recovered is a reservation that Recover settled.
type Recovered struct {
	ID      string     `json:"id"`
	Cost    policy.USD `json:"cost"`
	Assumed bool       `json:"assumed"`
}

// Recover settles the reservations for calls that a stopped process left open, by what
// the log states: an answered call costs what the log has, a call that was sent costs
// all that was reserved, because the service may have done it, and a call that was not sent
// costs nothing.
func (o *Owner) Recover(ctx context.Context, outcome func(id string) Outcome) (out []Recovered, err error) {
	err = o.write(ctx, "recovering a thread in", func(t *tx) error {
		out, err = t.recoverAll(o.thread, outcome, o.periods)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (t *tx) recoverAll(
	thread string,
	outcome func(id string) Outcome,
	maximums policy.Periods,
) (out []Recovered, err error) {
	rows, err := t.openReservations(thread)
	for _, r := range rows {
		if err == nil && r.kind == kindCall {
			var done Recovered
			done, err = t.recover(r, outcome(r.id), maximums)
			out = append(out, done)
		}
	}
	return out, err
}

func (t *tx) recover(r reservation, is Outcome, maximums policy.Periods) (Recovered, error) {
	done := Recovered{ID: r.id}
	switch {
	case is.Answered:
		done.Cost = is.Cost
		done.Assumed = is.Assumed
	case is.Sent:
		done.Cost = r.amount
		done.Assumed = true
	}
	_, err := t.settle(r, done.Cost, done.Assumed, maximums)
	if err == nil && !is.Answered && !is.Sent {
		_, err = t.Exec("UPDATE reservations SET status = 'released' WHERE id = ?", r.id)
	}
	return done, err
}
