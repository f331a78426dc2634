package store

import (
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
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
	register(t, s, "a", 100)
	register(t, s, "b", 100)
	found, err := s.Running(t.Context())
	must(t, err)
	if len(found) != 2 || found[0].Until != noon.Add(leaseTime) {
		t.Fatalf("running %+v", found)
	}
	again := register(t, s, "b", 100)
	for i, want := range []bool{true, false} {
		for range 2 {
			done, err := s.Orphan(t.Context(), &found[i], "orphaned")
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
	// Its next owner continues it.
	must(t, register(t, s, "a", 100).Reserve(t.Context(), "c", "m", 10))
	if _, err := s.Find(t.Context(), "", "none"); diag.CodeOf(err) != diag.ThreadNotFound {
		t.Error(err)
	}
}
