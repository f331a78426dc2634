package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// What holds after every transaction:
//
//	I1  reserved of a thread is the sum of its open reservations.
//	I2  actual + reserved <= max + overspent.
//	I3  The maximum of a child is the amount of its parent's open reservation for it.
//	I4  After a release, actual of the parent includes actual of the child, and the
//	    reservation is not open.
//	I5  At each reservation for a call, actual + reserved of the day and of the month
//	    are within the user's maximum. Each is the sum over the calls of the period.

// The kinds and states of reservations.
const (
	kindCall  = "call"
	kindChild = "child"

	open     = "open"
	settled  = "settled"
	released = "released"
	active   = "active"
)

// Account is what one maximum was used for.
type Account struct {
	Max       policy.USD `json:"max"`
	Actual    policy.USD `json:"actual"`
	Reserved  policy.USD `json:"reserved"`
	Overspent policy.USD `json:"overspent"`
}

// Left returns the amount that can be reserved.
func (a Account) Left() policy.USD {
	return max(0, a.Max-a.Actual-a.Reserved)
}

// account is the row of a thread in the ledger.
type account struct {
	Account
	parent, status string
}

func (t *tx) account(thread string) (a account, err error) {
	err = t.QueryRow(accountQuery, thread).
		Scan(
			&a.Max,
			&a.Actual,
			&a.Reserved,
			&a.Overspent,
			&a.parent,
			&a.status,
		)
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound(thread)
	}
	return a, err
}

// reservation is a row of the table reservations.
type reservation struct {
	id, thread, kind, child, model, status string
	amount, settled                        policy.USD
	assumed                                bool
	created                                time.Time
}

const reservationColumns = "id, thread, kind, child, model, amount, settled, assumed, status, created"

func scanReservation(row interface{ Scan(...any) error }) (r reservation, err error) {
	var created int64
	err = row.Scan(
		&r.id,
		&r.thread,
		&r.kind,
		&r.child,
		&r.model,
		&r.amount,
		&r.settled,
		&r.assumed,
		&r.status,
		&created,
	)
	r.created = time.UnixMilli(created).UTC()
	return r, err
}

// reservation returns a reservation. ok is false if it does not exist.
func (t *tx) reservation(id string) (r reservation, ok bool, err error) {
	r, err = scanReservation(t.QueryRow(reservationQuery, id))
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, err
}

// Reserve reserves the most that a call to a model can cost, in the thread and in the
// user's day and month. A repeated call with the same id and amount has no effect. The
// error is BUDGET_EXCEEDED if it does not fit; its detail limit is spend,
// spend.per_day or spend.per_month.
//
// The day of the reservation, in UTC, pays for a call around midnight.
func (o *Owner) Reserve(ctx context.Context, id, model string, amount policy.USD) error {
	o.store.prepare(ctx)
	return o.write(ctx, "reserving in", func(t *tx) error {
		r := reservation{
			id:      id,
			thread:  o.thread,
			kind:    kindCall,
			model:   model,
			amount:  amount,
			created: t.now,
		}
		if done, err := t.reserve(r); done || err != nil {
			return err
		}
		for _, p := range periodsOf(t.now, o.periods) {
			a, err := t.period(p)
			if err != nil {
				return err
			}
			if amount > a.Left() {
				return exceeded("reserving for a call of", o.thread, p.balance(a), amount)
			}
			if err := t.addToPeriod(p.name, 0, amount); err != nil {
				return err
			}
		}
		return nil
	})
}

// reserve adds an open reservation. done is true if it exists already.
func (t *tx) reserve(r reservation) (done bool, err error) {
	if r.amount < 0 {
		return false, diag.New(diag.Internal, "reserving in the ledger: the amount %d is negative", int64(r.amount))
	}
	have, exists, err := t.reservation(r.id)
	if err != nil {
		return false, err
	}
	if exists {
		if have.status == open &&
			have.thread == r.thread &&
			have.kind == r.kind &&
			have.child == r.child &&
			have.amount == r.amount {
			return true, nil
		}
		return false, diag.New(diag.ThreadState, "reserving in the ledger: the reservation %s exists with %s USD and is %s", r.id, have.amount, have.status)
	}
	a, err := t.account(r.thread)
	if err != nil {
		return false, err
	}
	if a.status != active {
		return false, diag.New(diag.ThreadState, "reserving in the ledger: the thread %s has ended", r.thread).
			WithReason("ended").
			WithDetail("id", r.thread)
	}
	if r.amount > a.Left() {
		return false, exceeded("reserving for a call of", r.thread, a.balance(), r.amount)
	}
	if _, err := t.Exec(reservationInsert,
		r.id, r.thread, r.kind, r.child, r.model, int64(r.amount), r.created.UnixMilli()); err != nil {
		return false, err
	}
	_, err = t.Exec(ledgerReserve, int64(r.amount), r.thread)
	return false, err
}

func exceeded(doing, thread string, balance policy.Balance, needed policy.USD) *diag.Error {
	return balance.Exceeded(doing+" "+thread, needed).WithDetail("id", thread)
}

// balance returns the amount that the thread can reserve by its own maximum.
func (a Account) balance() policy.Balance {
	return policy.Balance{
		Limit:    policy.LimitSpend,
		Spent:    a.Actual,
		Reserved: a.Reserved,
		Max:      a.Max,
	}
}

// Settlement is the result of Settle.
type Settlement struct {
	Thread    Account
	Overspent policy.USD // what the call cost beyond its reservation
	// Warn has the maximums of which the call used the part that is warned of: spend,
	// spend.per_day, spend.per_month. Each is in it once, for one call.
	Warn []string
}

// Err returns the error that ends a thread whose call cost more than was reserved.
func (s Settlement) Err() error {
	if s.Overspent == 0 {
		return nil
	}
	return diag.New(diag.Overspent, "settling a call: it cost %s USD more than the reservation, which was the most that it could cost by the prices of its model", s.Overspent).
		WithDetail("overspent", s.Overspent.String()).WithDetail("max", s.Thread.Max.String())
}

// Settle records what a call cost, in full even if it is more than was reserved. A
// repeated call with the same cost has no effect. assumed marks a cost that the
// service did not report.
func (o *Owner) Settle(
	ctx context.Context,
	id string,
	actual policy.USD,
	assumed bool,
) (out Settlement, err error) {
	err = o.write(ctx, "settling in", func(t *tx) error {
		r, exists, err := t.reservation(id)
		switch {
		case err != nil:
			return err
		case !exists || r.thread != o.thread || r.kind != kindCall:
			return diag.New(diag.ThreadState, "settling in the ledger: the thread %s has no reservation %s for a call", o.thread, id)
		}
		out, err = t.settle(r, actual, assumed, o.periods)
		return err
	})
	return out, err
}

// Settled returns the cost of a call, whether it is assumed, and ok false if its reservation is
// open or unknown.
// A call whose answer is in the log, and whose settlement is not here, is settled with the cost
// in the log.
func (o *Owner) Settled(ctx context.Context, id string) (cost policy.USD, assumed, ok bool, err error) {
	err = o.store.read(ctx, "reading a reservation in", func(t *tx) error {
		r, exists, err := t.reservation(id)
		if ok = exists && r.thread == o.thread && r.status == settled; ok {
			cost = r.settled
			assumed = r.assumed
		}
		return err
	})
	return cost, assumed, ok, err
}

func (t *tx) settle(
	r reservation,
	actual policy.USD,
	assumed bool,
	maximums policy.Periods,
) (out Settlement, err error) {
	before, err := t.account(r.thread)
	if err != nil {
		return out, err
	}
	over := max(0, actual-r.amount)
	out = Settlement{Thread: before.Account, Overspent: over}
	switch {
	case r.status == settled && r.settled == actual:
		return out, nil
	case r.status != open:
		return out, diag.New(diag.ThreadState, "settling in the ledger: the reservation %s is %s with %s USD", r.id, r.status, r.settled)
	case actual < 0 || actual > math.MaxInt64/4-before.Actual:
		return out, diag.New(diag.Internal, "settling in the ledger: a cost of %d is outside of the range", int64(actual))
	}
	if _, err := t.Exec(reservationSettled, int64(actual), assumed, r.id); err != nil {
		return out, err
	}
	// Overspent first: the constraint of the table is checked after each statement.
	if err := t.overspend(r.thread, over); err != nil {
		return out, err
	}
	if _, err := t.Exec(ledgerSettle, int64(r.amount), int64(actual), r.thread); err != nil {
		return out, err
	}
	out.Thread.Reserved -= r.amount
	out.Thread.Actual += actual
	out.Thread.Overspent += over
	if crossed(before.Max, before.Actual, out.Thread.Actual, maximums.WarnAt) {
		out.Warn = append(out.Warn, "spend")
	}
	for _, p := range periodsOf(r.created, maximums) {
		a, err := t.period(p)
		if err != nil {
			return out, err
		}
		err = t.addToPeriod(p.name, actual, -r.amount)
		if err != nil {
			return out, err
		}
		if crossed(p.most, a.Actual, a.Actual+actual, maximums.WarnAt) {
			out.Warn = append(out.Warn, p.limit)
		}
	}
	return out, nil
}

// crossed reports whether a payment is the one that reaches the part at of most.
func crossed(most, before, after policy.USD, at float64) bool {
	if at <= 0 || most == 0 {
		return false
	}
	line := float64(most) * at
	return float64(before) < line && float64(after) >= line
}

// overspend adds to what a thread and all above it have spent beyond reservations.
func (t *tx) overspend(thread string, amount policy.USD) error {
	if amount == 0 {
		return nil
	}
	_, err := t.Exec(`WITH RECURSIVE up(id) AS (VALUES(?) UNION SELECT l.parent FROM ledger l JOIN up ON l.thread = up.id WHERE l.parent != '')
		UPDATE ledger SET overspent = overspent + ? WHERE thread IN (SELECT id FROM up)`, thread, int64(amount))
	return err
}

// Left returns the amount that the thread can reserve now.
func (o *Owner) Left(ctx context.Context) (policy.USD, error) {
	balance, err := o.Balance(ctx)
	return balance.Left(), err
}

// Balance returns the maximum that bounds the thread now: its own, or the maximum of the user's
// day or month if that has a lower rest.
func (o *Owner) Balance(ctx context.Context) (balance policy.Balance, err error) {
	o.store.prepare(ctx)
	err = o.store.read(ctx, "reading", func(t *tx) error {
		a, err := t.account(o.thread)
		balance = a.balance()
		for _, p := range periodsOf(t.now, o.periods) {
			if err != nil {
				return err
			}
			var of Account
			of, err = t.period(p)
			r := p.balance(of)
			if r.Left() < balance.Left() {
				balance = r
			}
		}
		return err
	})
	return balance, err
}

// period is a day or a month in UTC, with the user's maximum.
type period struct {
	name, scope, limit string
	most               policy.USD
	ends               time.Time
}

func periodsOf(at time.Time, p policy.Periods) []period {
	year, month, day := at.UTC().Date()
	tomorrow := time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	nextMonth := time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
	return []period{
		{at.UTC().Format(time.DateOnly), "day", policy.LimitDay, p.PerDay, tomorrow},
		{at.UTC().Format("2006-01"), "month", policy.LimitMonth, p.PerMonth, nextMonth},
	}
}

// balance returns the amount that can be reserved in the period.
func (p period) balance(a Account) policy.Balance {
	return policy.Balance{
		Limit:    p.limit,
		Spent:    a.Actual,
		Reserved: a.Reserved,
		Max:      p.most,
		Period:   p.name,
		Renews:   p.ends,
	}
}

func (t *tx) period(p period) (Account, error) {
	a := Account{Max: p.most}
	err := t.QueryRow(periodQuery, p.name).Scan(&a.Actual, &a.Reserved)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return a, err
}

func (t *tx) addToPeriod(name string, actual, reserved policy.USD) error {
	_, err := t.Exec(periodInsert, name)
	if err == nil {
		_, err = t.Exec(periodUpdate, int64(actual), int64(reserved), name)
	}
	return err
}
