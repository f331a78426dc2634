package store

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// A lease states until when the owner of a running thread is believed to live. The owner
// renews it; a process that finds an expired lease checks the process of the owner.
const (
	leaseTime  = 30 * time.Second
	leaseRenew = 10 * time.Second
)

// Process identifies a process of this machine: a second process with the same number has
// another start, or is of another boot. The zero value is a process that is not known.
type Process struct {
	PID   int    `json:"pid"`
	Start int64  `json:"start"`
	Boot  string `json:"boot"`
}

// Lease is what the registry knows about the owner of a running thread.
// A waiter finds the process by the owner of the lock of the log, and not here.
type Lease struct {
	Row
	Owner Process
	Until time.Time
	fence int64
}

// Over reports whether the lease ended before a time.
func (l *Lease) Over(now time.Time) bool {
	return l.Until.Before(now)
}

// Renew prolongs the lease. The error is THREAD_STATE if another process has taken the
// thread over.
func (o *Owner) Renew(ctx context.Context) error {
	return o.write(ctx, "renewing a lease in", func(t *tx) error {
		_, err := t.Exec("UPDATE threads SET lease_until = ? WHERE id = ?", t.now.Add(leaseTime).UnixMilli(), o.thread)
		return err
	})
}

// Keep renews the lease until stop is called. lost is called once if another process has
// taken the thread over; other errors end nothing, because the lease outlasts two of them.
func (o *Owner) Keep(ctx context.Context, lost func(error)) (stop func()) {
	return o.keep(ctx, leaseRenew, lost)
}

func (o *Owner) keep(
	ctx context.Context,
	every time.Duration,
	lost func(error),
) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := o.Renew(ctx); IsTakenOver(err) {
				lost(err)
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// takenOver is the reason of the error of an owner whose thread has a new owner.
const takenOver = "taken_over"

// IsTakenOver reports whether a write was refused because another process has taken the
// thread over.
func IsTakenOver(err error) bool {
	e := diag.Typed(err)
	return e != nil && e.Code == diag.ThreadState && e.Reason == takenOver
}

// lease writes the process of this store as the owner of a running thread.
func (t *tx) lease(thread string, p Process) error {
	_, err := t.Exec("UPDATE threads SET lease_until = ?, pid = ?, pid_start = ?, boot_id = ? WHERE id = ?",
		t.now.Add(leaseTime).UnixMilli(), p.PID, p.Start, p.Boot, thread)
	return err
}

// Running returns the threads that have an owner, of every project, also those whose
// process has not begun: the process that admitted them owns them.
func (s *Store) Running(ctx context.Context) (out []Lease, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		rows, err := t.threads("SELECT "+threadColumns+" WHERE t.state IN (?, ?) ORDER BY t.created, t.id", stateRunning, Created)
		for _, row := range rows {
			l := Lease{Row: row}
			var until int64
			if err == nil {
				err = t.QueryRow("SELECT lease_until, pid, pid_start, boot_id, fence FROM threads WHERE id = ?", row.Thread).
					Scan(
						&until,
						&l.Owner.PID,
						&l.Owner.Start,
						&l.Owner.Boot,
						&l.fence,
					)
			}
			l.Until = time.UnixMilli(until).UTC()
			out = append(out, l)
		}
		return err
	})
	return out, err
}

// Orphan records that the owner of a thread is gone, and settles its open reservations for
// calls as Recover does: they are no longer held in the periods of the user. done is false
// if another process has taken the thread over since the lease was read. The account
// stays for the process that continues the thread; Abandon is for the others.
func (s *Store) Orphan(
	ctx context.Context,
	l *Lease,
	reason string,
	outcome func(id string) Outcome,
) (done bool, err error) {
	err = s.write(ctx, "recording an orphan in", func(t *tx) error {
		res, err := t.Exec("UPDATE threads SET state = 'error', reason = ?, ended = ?, lease_until = 0 WHERE id = ? AND fence = ? AND state = ?",
			reason, t.now.UnixMilli(), l.Thread, l.fence, l.State)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if done = n == 1; err != nil || !done {
			return err
		}
		_, err = t.recoverAll(l.Thread, outcome, policy.Periods{})
		return err
	})
	return done && err == nil, err
}

// Abandon ends a thread whose owner is gone and whose log does not state how it went: it
// has no line, or cannot be read. An open reservation for a call is paid in full, because
// the call can have been made. done is false if another process has taken the thread over
// since the lease was read.
func (s *Store) Abandon(
	ctx context.Context,
	l *Lease,
	state, reason string,
) (done bool, err error) {
	err = s.write(ctx, "ending a thread in", func(t *tx) error {
		err := t.QueryRow("SELECT count(*) > 0 FROM threads WHERE id = ? AND fence = ? AND state = ?", l.Thread, l.fence, l.State).Scan(&done)
		if err != nil || !done {
			return err
		}
		_, err = t.recoverAll(
			l.Thread,
			func(string) Outcome { return Outcome{Sent: true} },
			policy.Periods{},
		)
		if err != nil {
			return err
		}
		return t.end(l.Thread, state, reason)
	})
	return done && err == nil, err
}
