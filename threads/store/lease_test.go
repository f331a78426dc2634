package store

import (
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// TestTakenOver: an owner whose thread another process has taken over can write nothing,
// and its keeper reports it.
func TestTakenOver(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir)
	old := register(t, s, "a", 100)
	must(t, old.Reserve(t.Context(), "c1", "m", 10))
	must(t, old.Renew(t.Context()))
	lost := make(chan error, 1)
	stop := old.keep(t.Context(), time.Millisecond, func(err error) { lost <- err })
	defer stop()

	other, err := Open(t.Context(), dir, Params{Process: Process{PID: 7, Start: 8, Boot: "b"}})
	must(t, err)
	defer other.Close()
	fresh := register(t, other, "a", 100)
	select {
	case err := <-lost:
		if !IsTakenOver(err) {
			t.Errorf("lost by %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the old owner got no report")
	}
	for what, err := range map[string]error{
		"Reserve": old.Reserve(t.Context(), "c2", "m", 10),
		"Settle":  func() error { _, err := old.Settle(t.Context(), "c1", 5, false); return err }(),
		"Recover": func() error {
			_, err := old.Recover(t.Context(), func(string) Outcome { return Outcome{} })
			return err
		}(),
		"Release": old.Release(t.Context(), "completed", ""),
		"Renew":   old.Renew(t.Context()),
		"Child":   func() error { _, err := old.Child(t.Context(), Thread{ID: "b"}, 1); return err }(),
	} {
		if !IsTakenOver(err) {
			t.Errorf("%s of the old owner: %v", what, err)
		}
	}
	must(t, fresh.Reserve(t.Context(), "c2", "m", 10))
	running, err := other.Running(t.Context())
	must(t, err)
	if len(running) != 1 || running[0].Owner != (Process{PID: 7, Start: 8, Boot: "b"}) || running[0].Over(time.Now()) {
		t.Errorf("running %+v", running)
	}
}

// TestOrphan: an orphan is recorded once, and not if a process has taken it over since it
// was found.
func TestOrphan(t *testing.T) {
	s := openTest(t, t.TempDir())
	a := register(t, s, "a", 100)
	register(t, s, "b", 100)
	must(t, a.Reserve(t.Context(), "a/1", "m", 30))
	must(t, a.Reserve(t.Context(), "a/2", "m", 20))
	sent := func(id string) Outcome { return Outcome{Sent: id == "a/1"} }
	found, err := s.Running(t.Context())
	must(t, err)
	if len(found) != 2 || found[0].Until != noon.Add(leaseTime) {
		t.Fatalf("running %+v", found)
	}
	again := register(t, s, "b", 100)
	for i, want := range []bool{true, false} {
		for range 2 {
			done, err := s.Orphan(t.Context(), &found[i], "orphaned", sent)
			must(t, err)
			if done != want {
				t.Errorf("%s: done %v", found[i].Thread, done)
			}
			want = false
		}
	}
	must(t, again.Renew(t.Context()))
	row, err := s.Find(t.Context(), "", "a")
	must(t, err)
	if row.State != "error" || row.Reason != "orphaned" {
		t.Errorf("row %+v", row)
	}
	// The call that was sent is paid, the other one costs nothing, and nothing is held.
	costs, err := s.Cost(t.Context(), "a", false)
	must(t, err)
	if got := costs[0].Account; got.Actual != 30 || got.Reserved != 0 || costs[0].Assumed != 30 {
		t.Errorf("account %+v, assumed %s", got, costs[0].Assumed)
	}
	// Its next owner continues it.
	must(t, register(t, s, "a", 100).Reserve(t.Context(), "c", "m", 10))
	if _, err := s.Find(t.Context(), "", "none"); diag.CodeOf(err) != diag.ThreadNotFound {
		t.Error(err)
	}
}

// TestAbandon: what a thread reserved that nothing can continue is settled, in all threads
// above it and in the periods, and a process that has taken it over keeps it.
func TestAbandon(t *testing.T) {
	s := openTest(t, t.TempDir())
	root, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 1, Spawns: 9}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
	for _, id := range []string{"created", "silent", "asked", "taken"} {
		_, err = root.Spawn(t.Context(), Thread{ID: id, Kind: "thread"}, Share{Spend: 100}, Terms{}, wideRunning())
		must(t, err)
	}
	begin := func(id string) *Owner {
		o, err := s.Register(t.Context(), Thread{ID: id, Kind: "thread"}, Budget{Max: 100, Periods: treePeriods()})
		must(t, err)
		return o
	}
	begin("silent")
	must(t, begin("asked").Reserve(t.Context(), "asked/1", "m", 40))
	begin("taken")
	leases, err := s.Running(t.Context())
	must(t, err)
	must(t, begin("taken").Reserve(t.Context(), "taken/1", "m", 30))
	for i := range leases {
		l := &leases[i]
		if l.Thread == "r" {
			continue
		}
		done, err := s.Abandon(t.Context(), l, "error", "orphaned")
		must(t, err)
		if done != (l.Thread != "taken") {
			t.Errorf("%s: abandoned %v", l.Thread, done)
		}
	}
	if a, err := root.Account(t.Context()); err != nil || a.Actual != 40 || a.Reserved != 100 {
		t.Errorf("the account of the root is %+v: %v; the call of asked costs 40, and taken has 100", a, err)
	}
	if n := len(leasesOf(t, s)); n != 2 {
		t.Errorf("%d threads run, not r and taken", n)
	}
	must(t, s.read(t.Context(), "reading", func(tx *tx) error {
		for _, p := range periodsOf(tx.now, treePeriods()) {
			a, err := tx.period(p)
			if err != nil || a.Actual != 40 || a.Reserved != 30 {
				t.Errorf("the account of the %s is %+v: %v", p.scope, a, err)
			}
		}
		return nil
	}))
}

func leasesOf(t *testing.T, s *Store) []Lease {
	t.Helper()
	leases, err := s.Running(t.Context())
	must(t, err)
	return leases
}

// TestKeep settles a child whose log does not have the maximum that a person gave it: its
// process was stopped before it recorded it.
func TestKeep(t *testing.T) {
	s := openTest(t, t.TempDir())
	root, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 1, Spawns: 9}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
	_, err = root.Spawn(t.Context(), Thread{ID: "c", Kind: "thread"}, Share{Spend: 100}, Terms{}, wideRunning())
	must(t, err)
	child := Thread{ID: "c", Kind: "thread"}
	for _, most := range []policy.USD{100, 200} {
		o, err := s.Register(t.Context(), child, Budget{Max: most, Periods: treePeriods()})
		must(t, err)
		if most == 100 {
			must(t, o.Release(t.Context(), "error", ""))
		}
	}
	if _, err := s.Register(t.Context(), child, Budget{Max: 100, Periods: treePeriods()}); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("the maximum of a child changed: %v", err)
	}
	o, err := s.Register(t.Context(), child, Budget{Max: 100, Keep: true, Periods: treePeriods()})
	must(t, err)
	must(t, o.Release(t.Context(), "error", "orphaned"))
	if a, err := root.Account(t.Context()); err != nil || a.Reserved != 0 {
		t.Errorf("the account of the root is %+v: %v", a, err)
	}
}
