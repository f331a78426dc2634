package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// model is the ledger as lists: every number is computed from all that happened.
type model struct {
	threads map[string]*modelThread
	calls   map[string]*modelCall
	day     map[string]policy.USD // what calls of a period cost or hold
}

type modelThread struct {
	parent       string
	max, over    policy.USD
	released     bool
	heldByParent bool
	paid         policy.USD // by released children
}

type modelCall struct {
	thread          string
	amount, settled policy.USD
	open            bool
	at              time.Time
}

func (m *model) actual(thread string) policy.USD {
	sum := m.threads[thread].paid
	for _, c := range m.calls {
		if c.thread == thread && !c.open {
			sum += c.settled
		}
	}
	return sum
}

func (m *model) reserved(thread string) (sum policy.USD) {
	for _, c := range m.calls {
		if c.thread == thread && c.open {
			sum += c.amount
		}
	}
	for _, t := range m.threads {
		if t.parent == thread && t.heldByParent {
			sum += t.max
		}
	}
	return sum
}

func (m *model) fits(thread string, amount policy.USD) bool {
	return !m.threads[thread].released && m.actual(thread)+m.reserved(thread)+amount <= m.threads[thread].max
}

// period sums the calls of a day or a month.
func (m *model) period(name, layout string) (actual, reserved policy.USD) {
	for _, c := range m.calls {
		switch {
		case c.at.Format(layout) != name:
		case c.open:
			reserved += c.amount
		default:
			actual += c.settled
		}
	}
	return actual, reserved
}

func (m *model) callOf(thread string) bool {
	for _, c := range m.calls {
		if c.thread == thread && c.open {
			return true
		}
	}
	return false
}

func (m *model) release(thread string) {
	t := m.threads[thread]
	t.released = true
	if t.parent != "" {
		m.threads[t.parent].paid += m.actual(thread)
	}
	t.heldByParent = false
	for _, c := range m.threads {
		if c.parent == thread && c.heldByParent && t.parent != "" {
			c.parent = t.parent
		}
	}
}

func (m *model) overspend(thread string, amount policy.USD) {
	for ; thread != ""; thread = m.threads[thread].parent {
		m.threads[thread].over += amount
	}
}

// TestLedgerAgainstModel makes random operations, with repeated and impossible ones, on
// the store and on the model, and compares every row after each.
func TestLedgerAgainstModel(t *testing.T) {
	steps, seeds := 600, uint64(4)
	if testing.Short() {
		steps, seeds = 200, 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &ledgerRun{T: t, rand: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC), dir: t.TempDir(),
				m: model{threads: map[string]*modelThread{}, calls: map[string]*modelCall{}}, owners: map[string]*Owner{}}
			r.maximums = policy.Periods{PerDay: 3000, PerMonth: 20_000, WarnAt: 0.8}
			r.reopen()
			for n := range steps {
				r.step(n)
				r.compare()
				if t.Failed() {
					t.Fatalf("after step %d", n)
				}
			}
			refused := r.refused
			if refused < steps/50 || refused > steps*4/5 {
				t.Errorf("%d of %d operations were refused: the test does not reach both sides", refused, steps)
			}
			_ = r.store.Close()
		})
	}
}

type ledgerRun struct {
	*testing.T
	rand     *rand.Rand
	now      time.Time
	dir      string
	store    *Store
	m        model
	owners   map[string]*Owner
	maximums policy.Periods
	refused  int
}

func (r *ledgerRun) reopen() {
	if r.store != nil {
		_ = r.store.Close()
	}
	s, err := Open(r.Context(), r.dir, Params{Now: func() time.Time { return r.now }})
	if err != nil {
		r.Fatal(err)
	}
	r.store = s
	for _, o := range r.owners {
		o.store = s
	}
}

// pick returns a random key.
func pick[V any](r *rand.Rand, m map[string]V) string {
	keys := slices.Sorted(maps.Keys(m))
	if len(keys) == 0 {
		return ""
	}
	return keys[r.IntN(len(keys))]
}

// outcome compares an error with the one that the model expects.
func (r *ledgerRun) outcome(what string, err error, want diag.Code) {
	r.Helper()
	if got := diag.CodeOf(err); got != want || err != nil && got == "" {
		r.Errorf("%s: %v, want %q", what, err, want)
	}
	if want != "" {
		r.refused++
	}
}

func (r *ledgerRun) step(n int) {
	r.now = r.now.Add(time.Duration(r.rand.IntN(10)) * time.Minute)
	thread := pick(r.rand, r.m.threads)
	switch k := r.rand.IntN(100); {
	case thread == "" || k < 6:
		id := fmt.Sprintf("root%d", n)
		o, err := r.store.Register(r.Context(), Thread{ID: id, Kind: "thread"}, Budget{Max: 2000, Periods: r.maximums})
		r.outcome("register", err, "")
		r.owners[id], r.m.threads[id] = o, &modelThread{max: 2000}
	case k < 45:
		r.reserve(thread, fmt.Sprintf("call%d", n), policy.USD(r.rand.IntN(250)))
	case k < 50:
		if id := pick(r.rand, r.m.calls); id != "" { // once more
			r.reserve(r.m.calls[id].thread, id, r.m.calls[id].amount)
		}
	case k < 82:
		r.settle(pick(r.rand, r.m.calls))
	case k < 88:
		r.child(thread, fmt.Sprintf("child%d", n))
	case k < 91:
		r.again(thread, pick(r.rand, r.m.threads))
	case k < 97:
		r.release(thread)
	default:
		r.reopen()
	}
}

func (r *ledgerRun) reserve(thread, id string, amount policy.USD) {
	var want diag.Code
	have, again := r.m.calls[id]
	dayUsed, dayHeld := r.m.period(r.now.Format(time.DateOnly), time.DateOnly)
	monthUsed, monthHeld := r.m.period(r.now.Format("2006-01"), "2006-01")
	switch {
	case again && have.open:
	case again, r.m.threads[thread].released:
		want = diag.ThreadState
	case !r.m.fits(thread, amount), dayUsed+dayHeld+amount > r.maximums.PerDay, monthUsed+monthHeld+amount > r.maximums.PerMonth:
		want = diag.BudgetExceeded
	}
	r.outcome("reserve", r.owners[thread].Reserve(r.Context(), id, "m", amount), want)
	if want == "" && !again {
		r.m.calls[id] = &modelCall{thread: thread, amount: amount, open: true, at: r.now}
	}
}

func (r *ledgerRun) settle(id string) {
	if id == "" {
		return
	}
	c := r.m.calls[id]
	actual := policy.USD(r.rand.Int64N(int64(c.amount) + 1))
	if r.rand.IntN(20) == 0 {
		actual = c.amount + policy.USD(r.rand.IntN(50))
	}
	var want diag.Code
	if !c.open && c.settled != actual {
		want = diag.ThreadState
	}
	got, err := r.owners[c.thread].Settle(r.Context(), id, actual, false)
	r.outcome("settle", err, want)
	if !c.open || err != nil {
		return
	}
	over := max(0, actual-c.amount)
	c.open, c.settled = false, actual
	r.m.overspend(c.thread, over)
	if got.Overspent != over || (got.Err() != nil) != (over > 0) || got.Thread.Actual != r.m.actual(c.thread) || got.Thread.Reserved != r.m.reserved(c.thread) {
		r.Errorf("settle returned %+v", got)
	}
}

func (r *ledgerRun) child(parent, id string) {
	amount := policy.USD(r.rand.IntN(600))
	var want diag.Code
	switch {
	case r.m.threads[parent].released:
		want = diag.ThreadState
	case !r.m.fits(parent, amount):
		want = diag.BudgetExceeded
	}
	o, err := r.owners[parent].Child(r.Context(), Thread{ID: id, Kind: "thread"}, amount)
	r.outcome("child", err, want)
	if want == "" {
		r.owners[id], r.m.threads[id] = o, &modelThread{parent: parent, max: amount, heldByParent: true}
	}
}

// again continues a child, of this parent or of another one.
func (r *ledgerRun) again(id, parent string) {
	t := r.m.threads[id]
	if r.rand.IntN(4) > 0 && t.parent != "" {
		parent = t.parent
	}
	if id == parent {
		return
	}
	actual := r.m.actual(id)
	var want diag.Code
	switch {
	case t.parent != parent:
		want = diag.ThreadState
	case !t.released:
	case r.m.threads[parent].released:
		want = diag.ThreadState
	case r.m.actual(parent)-actual+r.m.reserved(parent)+max(t.max, actual) > r.m.threads[parent].max:
		want = diag.BudgetExceeded
	case actual > t.max:
		want = diag.ThreadState // its maximum would change
	}
	o, err := r.owners[parent].Child(r.Context(), Thread{ID: id, Kind: "thread"}, t.max)
	r.outcome("again", err, want)
	if want != "" {
		return
	}
	r.owners[id] = o
	if t.released {
		r.m.threads[parent].paid -= actual
		t.released, t.heldByParent = false, true
	}
}

func (r *ledgerRun) release(thread string) {
	var want diag.Code
	if r.m.callOf(thread) {
		want = diag.ThreadState
	}
	done := r.m.threads[thread].released
	r.outcome("release", r.owners[thread].Release(r.Context(), "completed", ""), want)
	if want == "" && !done {
		r.m.release(thread)
	}
}

// compare compares every row, and what must hold between rows, with the model.
func (r *ledgerRun) compare() {
	r.Helper()
	err := r.store.read(r.Context(), "comparing", func(t *tx) error {
		for id, th := range r.m.threads {
			a, err := t.account(id)
			if err != nil {
				return err
			}
			want := Account{Max: th.max, Actual: r.m.actual(id), Reserved: r.m.reserved(id), Overspent: th.over}
			if a.Account != want || a.parent != th.parent || (a.status == released) != th.released {
				r.Errorf("%s is %+v, want %+v, parent %q, released %t", id, a, want, th.parent, th.released)
			}
		}
		for _, layout := range []string{time.DateOnly, "2006-01"} {
			actual, reserved := r.m.period(r.now.Format(layout), layout)
			if a, err := t.period(period{name: r.now.Format(layout)}); err != nil || a.Actual != actual || a.Reserved != reserved {
				r.Errorf("period: %+v %v, want %d and %d", a, err, actual, reserved)
			}
		}
		return invariants(t)
	})
	if err != nil {
		r.Error(err)
	}
}

// invariants checks I1 to I4 by queries over all rows.
func invariants(t *tx) error {
	for name, query := range map[string]string{
		"I1": `SELECT count(*) FROM ledger l WHERE reserved != (SELECT coalesce(sum(amount), 0) FROM reservations r WHERE r.thread = l.thread AND r.status = 'open')`,
		"I2": `SELECT count(*) FROM ledger WHERE actual + reserved > max + overspent`,
		"I3": `SELECT count(*) FROM ledger l WHERE status = 'active' AND parent != '' AND max != (SELECT coalesce(sum(amount), -1) FROM reservations r WHERE r.thread = l.parent AND r.child = l.thread AND r.status = 'open')`,
		"I4": `SELECT count(*) FROM ledger l WHERE status = 'released' AND (SELECT count(*) FROM reservations r WHERE r.child = l.thread AND r.status = 'open') > 0
			OR actual < (SELECT coalesce(sum(settled), 0) FROM reservations r WHERE r.thread = l.thread AND r.status = 'settled')`,
		"periods": `SELECT (SELECT coalesce(sum(reserved), 0) FROM user_spend WHERE length(period) = 10) != (SELECT coalesce(sum(amount), 0) FROM reservations WHERE kind = 'call' AND status = 'open')
			OR (SELECT coalesce(sum(actual), 0) FROM user_spend WHERE length(period) = 7) != (SELECT coalesce(sum(settled), 0) FROM reservations WHERE kind = 'call')`,
	} {
		var bad int
		if err := t.QueryRow(query).Scan(&bad); err != nil {
			return err
		}
		if bad != 0 {
			return errors.New(name + " does not hold")
		}
	}
	return nil
}
