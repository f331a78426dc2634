package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func openTest(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, Params{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var wide = policy.Periods{PerDay: 1_000_000, PerMonth: 1_000_000, WarnAt: 0.8}

func register(t testing.TB, s *Store, id string, most policy.USD) *Owner {
	t.Helper()
	o, err := s.Register(t.Context(), Thread{ID: id, Project: "/p", Kind: "thread", Ref: "directive:a/b", Model: "m1"}, Budget{Max: most, Periods: wide})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code diag.Code, words ...string) {
	t.Helper()
	if diag.CodeOf(err) != code {
		t.Errorf("error %v, want %s", err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not contain %q", err, w)
		}
	}
}

// TestOverspent charges more than was reserved: all of it is recorded, in the thread and
// above it, and nothing more can be reserved.
func TestOverspent(t *testing.T) {
	s := openTest(t, t.TempDir())
	root := register(t, s, "root", 100)
	child, err := root.Child(t.Context(), Thread{ID: "child", Kind: "thread"}, 60)
	must(t, err)
	must(t, child.Reserve(t.Context(), "c1", "m1", 60))
	got, err := child.Settle(t.Context(), "c1", 75, false)
	must(t, err)
	if got.Overspent != 15 || !slices.Equal(got.Warn, []string{"spend"}) {
		t.Errorf("settlement %+v", got)
	}
	wantCode(t, got.Err(), diag.Overspent, "0.000000015 USD more")
	wantCode(t, child.Reserve(t.Context(), "c2", "m1", 1), diag.BudgetExceeded)
	must(t, child.Release(t.Context(), "error", "overspent"))
	costs, err := s.Cost(t.Context(), "root", true)
	must(t, err)
	if want := (Account{Max: 100, Actual: 75, Overspent: 15}); len(costs) != 2 || costs[0].Account != want {
		t.Errorf("after the release: %+v", costs)
	}
	must(t, root.Reserve(t.Context(), "c3", "m1", 25))
	wantCode(t, root.Reserve(t.Context(), "c4", "m1", 1), diag.BudgetExceeded, "0.00")
}

// TestPeriods reserves in the day and the month, and warns once.
func TestPeriods(t *testing.T) {
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	s, err := Open(t.Context(), t.TempDir(), Params{Now: func() time.Time { return now }})
	must(t, err)
	defer s.Close()
	maximums := policy.Periods{PerDay: 100, PerMonth: 150, WarnAt: 0.8}
	o, err := s.Register(t.Context(), Thread{ID: "a"}, Budget{Max: 1000, Periods: maximums})
	must(t, err)
	must(t, o.Reserve(t.Context(), "c1", "m", 90))
	err = o.Reserve(t.Context(), "c2", "m", 20)
	wantCode(t, err, diag.BudgetExceeded, "2026-11-30")
	var e *diag.Error
	if errors.As(err, &e); e.Details["limit"] != "spend.per_day" || e.Details["max"] != "0.0000001" {
		t.Errorf("details %v", e.Details)
	}
	now = now.Add(time.Hour) // the next day, and the next month
	must(t, o.Reserve(t.Context(), "c3", "m", 100))
	got, err := o.Settle(t.Context(), "c1", 85, false) // of the day before
	must(t, err)
	if !slices.Equal(got.Warn, []string{"spend.per_day"}) {
		t.Errorf("warned of %q", got.Warn)
	}
	got, err = o.Settle(t.Context(), "c3", 10, true)
	must(t, err)
	if len(got.Warn) > 0 {
		t.Errorf("warned of %q", got.Warn)
	}
	periods, err := s.Periods(t.Context(), maximums)
	must(t, err)
	if want := (Period{"2026-12-01", "day", 100, 10, 0}); len(periods) != 2 || periods[0] != want || periods[1].Period != "2026-12" || periods[1].Scope != "month" {
		t.Errorf("periods %+v", periods)
	}
	if left, err := o.Left(t.Context()); err != nil || left != 90 {
		t.Errorf("left %d %v", left, err)
	}
}

// TestRecover settles what a stopped process left open by what its log states.
func TestRecover(t *testing.T) {
	s := openTest(t, t.TempDir())
	old := register(t, s, "a", 100)
	for _, id := range []string{"answered", "sent", "unsent"} {
		must(t, old.Reserve(t.Context(), id, "m1", 20))
	}
	o := register(t, s, "a", 100)
	wantCode(t, old.Reserve(t.Context(), "late", "m1", 1), diag.ThreadState, "taken over")
	_, err := old.Settle(t.Context(), "sent", 1, false)
	wantCode(t, err, diag.ThreadState)
	wantCode(t, old.Release(t.Context(), "completed", ""), diag.ThreadState)
	wantCode(t, o.Release(t.Context(), "error", ""), diag.ThreadState, "answered")
	logged := map[string]Outcome{"answered": {Sent: true, Answered: true, Cost: 7}, "sent": {Sent: true}}
	got, err := o.Recover(t.Context(), func(id string) Outcome { return logged[id] })
	must(t, err)
	if want := []Recovered{{ID: "answered", Cost: 7}, {ID: "sent", Cost: 20, Assumed: true}, {ID: "unsent"}}; !slices.Equal(got, want) {
		t.Errorf("recovered %+v", got)
	}
	again, err := o.Recover(t.Context(), func(id string) Outcome { return logged[id] })
	if err != nil || len(again) > 0 {
		t.Errorf("recovered again: %+v %v", again, err)
	}
	costs, err := s.Cost(t.Context(), "a", false)
	must(t, err)
	if c := costs[0]; c.Actual != 27 || c.Reserved != 0 || c.Assumed != 20 || len(c.Models) != 1 || c.Models[0].Calls != 2 {
		t.Errorf("cost %+v", c)
	}
	must(t, o.Release(t.Context(), "error", "limit"))
	wantCode(t, o.Reserve(t.Context(), "more", "m1", 1), diag.ThreadState, "has ended")
	_, err = s.Register(t.Context(), Thread{ID: "a"}, Budget{Max: 20, Periods: wide})
	wantCode(t, err, diag.BudgetExceeded)
	must(t, register(t, s, "a", 30).Reserve(t.Context(), "resumed", "m1", 3))
}

// TestFind finds threads by the beginning of their ids.
func TestFind(t *testing.T) {
	s := openTest(t, t.TempDir())
	o := register(t, s, "triage-1", 10)
	register(t, s, "triage-2", 10)
	must(t, o.Release(t.Context(), "error", "limit"))
	row, err := s.Find(t.Context(), "/p", "triage-1")
	must(t, err)
	want := Row{Thread: "triage-1", Project: "/p", Kind: "thread", Ref: "directive:a/b", Root: "triage-1", State: "error", Reason: "limit", Model: "m1", Created: noon, Number: 1, Described: true}
	if row != want {
		t.Errorf("row %+v", row)
	}
	_, err = s.Find(t.Context(), "/p", "triage")
	wantCode(t, err, diag.ThreadNotFound, "2 threads begin")
	_, err = s.Find(t.Context(), "/other", "triage-1")
	wantCode(t, err, diag.ThreadNotFound, "triage-1")
	if row, err = s.Find(t.Context(), "", "triage-2"); err != nil || row.State != stateRunning {
		t.Errorf("row %+v %v", row, err)
	}
}

// TestOpen opens stores in unusual directories and states.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b%41?x#y")
	if runtime.GOOS == "windows" {
		dir = filepath.Join(t.TempDir(), "a b%41#y")
	}
	_, err := Open(t.Context(), dir, Params{Existing: true})
	if !Missing(err) {
		t.Errorf("a missing store: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the directory was created by a reader")
	}
	register(t, openTest(t, dir), "a", 1)
	if _, err := os.Lstat(filepath.Join(dir, File)); err != nil {
		t.Error(err)
	}
	s := openTest(t, dir)
	var mode, sync string
	must(t, s.db.QueryRow("PRAGMA journal_mode").Scan(&mode))
	must(t, s.db.QueryRow("PRAGMA synchronous").Scan(&sync))
	if mode != "wal" || sync != "2" {
		t.Errorf("journal %s, synchronous %s", mode, sync)
	}
	if fi, err := os.Stat(dir); runtime.GOOS != "windows" && (err != nil || fi.Mode().Perm() != 0o700) {
		t.Errorf("mode %v %v", fi.Mode(), err)
	}
	_, err = Open(t.Context(), dir, Params{remote: func(string) (string, error) { return "nfs", nil }})
	wantCode(t, err, diag.FileSystemError, "network file system (nfs)")
	_, err = s.db.Exec("PRAGMA user_version = 99")
	must(t, err)
	_, err = Open(t.Context(), dir, Params{})
	wantCode(t, err, diag.VersionMismatch, "schema 99")
	_, err = Open(t.Context(), "", Params{})
	wantCode(t, err, diag.FileSystemError)
}

// TestCorrupt names the file of a store that is not a database.
func TestCorrupt(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, File), []byte(strings.Repeat("not a database\n", 100)), 0o600))
	_, err := Open(t.Context(), dir, Params{})
	wantCode(t, err, diag.FileSystemError, File)
	var e *diag.Error
	if errors.As(err, &e); e.Reason != "store_corrupt" {
		t.Errorf("reason %q", e.Reason)
	}
}

// TestOpenAtOnce creates one store from many goroutines at the same time.
func TestOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := Open(t.Context(), dir, Params{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			_, err = s.Threads(t.Context(), "", "")
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestCancelled ends the wait for the gate with the context, and leaves nothing behind.
func TestCancelled(t *testing.T) {
	dir := t.TempDir()
	o := register(t, openTest(t, dir), "a", 10)
	held, err := o.store.base.Lock(t.Context(), gate)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err = o.Reserve(ctx, "c1", "m", 5)
	wantCode(t, err, diag.FileSystemError, gate)
	must(t, held.Release())
	must(t, o.Reserve(t.Context(), "c1", "m", 10))
}

func BenchmarkReserveSettle(b *testing.B) {
	s := openTest(b, b.TempDir())
	o, err := s.Register(b.Context(), Thread{ID: "a"}, Budget{Max: 1 << 50, Periods: policy.Periods{PerDay: 1 << 50, PerMonth: 1 << 50}})
	must(b, err)
	for b.Loop() {
		id := time.Now().Format(time.RFC3339Nano)
		must(b, o.Reserve(b.Context(), id, "m", 10))
		_, err := o.Settle(b.Context(), id, 5, false)
		must(b, err)
	}
}
