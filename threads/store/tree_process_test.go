package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// treePeriods permit every call of the test.
func treePeriods() policy.Periods {
	return policy.Periods{PerDay: 1 << 50, PerMonth: 1 << 50, WarnAt: 0.8}
}

// treeMax is the maximum of the root; a child gets up to a third of what its parent has.
const treeMax = 1_000_000

func treeName(n int) string { return fmt.Sprintf("t%03d", n) }

// growTree starts n threads: thread k is a child of thread (k-1)/3. The maximums are
// random, and one in three is so small that its calls soon do not fit.
func growTree(t *testing.T, s *Store, n int) {
	t.Helper()
	root, err := s.Register(t.Context(), Thread{ID: treeName(0), Kind: "thread", Depth: 20, Spawns: 1 << 40}, Budget{Max: treeMax, Periods: treePeriods()})
	must(t, err)
	owners := []*Owner{root}
	for k := 1; k < n; k++ {
		up := owners[(k-1)/3]
		left, err := up.Left(t.Context())
		must(t, err)
		most := left / 4
		if k%3 == 0 {
			most = min(most, policy.USD(rand.IntN(200)))
		}
		o, err := up.Child(t.Context(), Thread{ID: treeName(k), Kind: "thread", Depth: 1, Spawns: 1 << 40}, most)
		must(t, err)
		owners = append(owners, o)
	}
}

// treeWorker is the process of one thread of the tree: it takes the thread over, settles
// what an earlier process left open, and reserves, spends, and starts and releases
// children of its own, until it is killed or its input ends.
func treeWorker(dir, id string) error {
	ctx, cancel := contextOfProcess()
	defer cancel()
	s, err := Open(ctx, dir, Params{})
	if err != nil {
		return err
	}
	most, ok, err := s.Max(ctx, id)
	if err != nil || !ok {
		return fmt.Errorf("no account %s: %w", id, err)
	}
	o, err := s.Register(ctx, Thread{ID: id, Depth: 20, Spawns: 1 << 40}, Budget{Max: most, Periods: treePeriods()})
	if err != nil {
		return err
	}
	if _, err := o.Recover(ctx, sentByHash); err != nil {
		return err
	}
	if err := adoptLeaves(ctx, s, o, id); err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(stop) }()
	for n := 0; ; n++ {
		select {
		case <-stop:
			return nil
		default:
		}
		name := fmt.Sprintf("%s-%d-%d", id, os.Getpid(), n)
		if n%4 == 3 {
			err = leaf(ctx, o, name)
		} else {
			_, err = call(ctx, o, name, most)
		}
		if err != nil {
			return err
		}
	}
}

// call reserves a random amount, and settles it: mostly for nothing, so that the budget
// lasts. done is false if it did not fit.
func call(ctx context.Context, o *Owner, id string, most policy.USD) (done bool, err error) {
	amount := policy.USD(rand.Int64N(max(int64(most)/8, 1))) + 1
	if err := o.Reserve(ctx, id, "m", amount); err != nil {
		if diag.CodeOf(err) == diag.BudgetExceeded {
			err = nil
		}
		return false, err
	}
	cost := policy.USD(0)
	if rand.IntN(8) == 0 {
		cost = policy.USD(rand.Int64N(int64(amount) + 1))
	}
	_, err = o.Settle(ctx, id, cost, false)
	return true, err
}

// leaf starts a child, makes a call in it and releases it.
func leaf(ctx context.Context, o *Owner, name string) error {
	left, err := o.Left(ctx)
	if err != nil {
		return err
	}
	id := "leaf-" + name
	got, err := o.Spawn(ctx, Thread{ID: id, Kind: "thread"}, Share{Spend: left / policy.USD(2+rand.IntN(6))}, Terms{}, wideRunning())
	if err == nil && rand.IntN(8) == 0 {
		return o.Discard(ctx, id)
	}
	var c *Owner
	if err == nil {
		c, err = o.store.Register(ctx, Thread{ID: id}, Budget{Max: got.Spend, Periods: treePeriods()})
	}
	if err == nil {
		if _, err = call(ctx, c, "leaf-"+name+"-call", left/8); err == nil {
			return c.Release(ctx, "completed", "")
		}
	}
	if diag.CodeOf(err) == diag.BudgetExceeded {
		return nil
	}
	return err
}

// adoptLeaves ends the children that a killed process of the thread left running.
func adoptLeaves(ctx context.Context, s *Store, o *Owner, id string) error {
	running, err := s.Running(ctx)
	if err != nil {
		return err
	}
	for _, l := range running {
		if l.Parent != id || !strings.HasPrefix(l.Thread, "leaf-") {
			continue
		}
		most, _, err := s.Max(ctx, l.Thread)
		if err != nil {
			return err
		}
		c, err := o.Child(ctx, Thread{ID: l.Thread}, most)
		if err != nil {
			return err
		}
		if _, err := c.Recover(ctx, sentByHash); err != nil {
			return err
		}
		if err := c.Release(ctx, "error", "orphaned"); err != nil {
			return err
		}
	}
	return nil
}

// sentByHash replaces the log: it decides which requests a killed process had sent.
func sentByHash(id string) Outcome { return Outcome{Sent: len(id)%2 == 0} }

// treeObserver checks at every state that it sees what must hold in the whole tree, until
// its input ends, and prints how many it saw.
func treeObserver(dir string) error {
	ctx, cancel := contextOfProcess()
	defer cancel()
	s, err := Open(ctx, dir, Params{})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(stop) }()
	for reads := 0; ; reads++ {
		if err := s.read(ctx, "observing", treeHolds); err != nil {
			return err
		}
		select {
		case <-stop:
			return json.NewEncoder(os.Stdout).Encode(reads + 1)
		case <-time.After(time.Millisecond):
		}
	}
}

// treeHolds checks the rows, and that what the calls of a thread and of all below it cost
// and hold is within its maximum, counted from the calls and not from the sums of the
// ledger.
func treeHolds(t *tx) error {
	if err := invariants(t); err != nil {
		return err
	}
	rows, err := t.Query(`WITH RECURSIVE below(top, id) AS (SELECT id, id FROM threads UNION ALL SELECT top, c.id FROM threads c JOIN below ON c.parent = below.id)
		SELECT b.top, l.max, sum(CASE r.status WHEN 'open' THEN r.amount ELSE r.settled END) FROM below b JOIN reservations r ON r.thread = b.id AND r.kind = 'call'
		JOIN ledger l ON l.thread = b.top GROUP BY b.top HAVING sum(CASE r.status WHEN 'open' THEN r.amount ELSE r.settled END) > l.max`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var most, used int64
		if err := rows.Scan(&id, &most, &used); err != nil {
			return err
		}
		return fmt.Errorf("the calls of %s and below it cost and hold %d of %d", id, used, most)
	}
	return rows.Err()
}

// treeSize is how many processes TestTreeOfProcesses starts, and for how long:
// RYE_LEDGER_TREE="64 60s" is the size of the design.
func treeSize(t *testing.T) (int, time.Duration) {
	t.Helper()
	text := os.Getenv("RYE_LEDGER_TREE")
	if text == "" {
		return 5, time.Second
	}
	count, length, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	must(t, err)
	d, err := time.ParseDuration(length)
	must(t, err)
	return n, d
}

// TestTreeOfProcesses has processes spend in a tree of threads, kills them at random and
// starts them again, while another process checks each state that it sees. After the
// last kill, each thread is taken over and released: nothing stays reserved, and the root
// has paid what all calls cost.
func TestTreeOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("kills trees of processes")
	}
	n, length := treeSize(t)
	dir := t.TempDir()
	s := openTest(t, dir)
	growTree(t, s, n)
	watch, watchIn, watchOut := process(t, dir, "tree-observer", "")
	kills := spendInTree(t, s, dir, n, length)
	must(t, watchIn.Close())
	var states int
	must(t, json.NewDecoder(watchOut).Decode(&states))
	must(t, watch.Wait())
	calls := recoverTree(t, s, n)
	t.Logf("%d processes, %d kills, %d calls, %d states read", n, kills, calls, states)
	if kills == 0 || calls == 0 || states == 0 {
		t.Error("nothing happened")
	}
}

// spendInTree keeps n processes running for a time, and until one has made a call, and
// returns how many were killed.
func spendInTree(t *testing.T, s *Store, dir string, n int, length time.Duration) (kills int) {
	t.Helper()
	type worker struct {
		cmd   *exec.Cmd
		in    io.Closer
		ended chan error
	}
	start := func(k int) *worker {
		cmd, in, _ := process(t, dir, "tree-worker", treeName(k))
		w := &worker{cmd, in, make(chan error, 1)}
		go func() { w.ended <- cmd.Wait() }()
		return w
	}
	all := make([]*worker, n)
	for k := range all {
		all[k] = start(k)
	}
	for end := time.Now().Add(length); time.Now().Before(end) || !called(t, s) && time.Now().Before(end.Add(time.Minute)); kills++ {
		time.Sleep(min(length/time.Duration(2*n), 50*time.Millisecond)) // the time between two kills is a part of what is tested
		k := rand.IntN(n)
		if err := all[k].cmd.Process.Kill(); err != nil {
			t.Errorf("worker %d ended by itself: %v", k, <-all[k].ended)
			return kills
		}
		<-all[k].ended
		all[k] = start(k)
	}
	for k, w := range all { // half of them are killed, the others end
		if k%2 == 0 {
			_ = w.cmd.Process.Kill()
		} else {
			must(t, w.in.Close())
		}
		if err := <-w.ended; err != nil && k%2 == 1 {
			t.Errorf("worker %d: %v", k, err)
		}
	}
	return kills
}

// called reports whether a process has made a call.
func called(t *testing.T, s *Store) (yes bool) {
	t.Helper()
	must(t, s.read(t.Context(), "counting", func(tx *tx) error {
		return tx.QueryRow(`SELECT count(*) > 0 FROM reservations WHERE kind = 'call'`).Scan(&yes)
	}))
	return yes
}

// recoverTree takes every thread over and releases it, the lowest first, and compares what
// the root paid with what the calls cost.
func recoverTree(t *testing.T, s *Store, n int) (calls int64) {
	t.Helper()
	for k := n - 1; k >= 0; k-- {
		most, _, err := s.Max(t.Context(), treeName(k))
		must(t, err)
		o, err := s.Register(t.Context(), Thread{ID: treeName(k)}, Budget{Max: most, Periods: treePeriods()})
		must(t, err)
		_, err = o.Recover(t.Context(), sentByHash)
		must(t, err)
		must(t, adoptLeaves(t.Context(), s, o, treeName(k)))
		must(t, o.Release(t.Context(), "error", "orphaned"))
	}
	must(t, s.read(t.Context(), "comparing", func(tx *tx) error {
		var open, reserved, paid, cost, periods int64
		err := tx.QueryRow(`SELECT (SELECT count(*) FROM reservations WHERE status = 'open'), (SELECT sum(reserved) FROM ledger) + (SELECT sum(reserved) FROM user_spend),
			(SELECT actual FROM ledger WHERE thread = ?), sum(settled), count(*), (SELECT sum(actual) FROM user_spend WHERE length(period) = 7)
			FROM reservations WHERE kind = 'call'`, treeName(0)).Scan(&open, &reserved, &paid, &cost, &calls, &periods)
		if err != nil {
			return err
		}
		if open != 0 || reserved != 0 || paid != cost || periods != cost || paid > treeMax {
			t.Errorf("%d reservations open, %d reserved; the root paid %d, the periods %d, of %d; the calls cost %d", open, reserved, paid, periods, treeMax, cost)
		}
		return treeHolds(tx)
	}))
	return calls
}
