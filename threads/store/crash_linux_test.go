package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// spendAll makes the operations of a thread with a child. Those that an earlier process
// has done are refused or have no effect.
func spendAll(dir string) error {
	ctx, cancel := contextOfProcess()
	defer cancel()
	s, err := Open(ctx, dir, Params{})
	if err != nil {
		return err
	}
	o, err := s.Register(ctx, Thread{ID: "a", Kind: "thread"}, Budget{Max: 100, Periods: wide})
	if err != nil {
		return err
	}
	var failed []error
	done := func(err error) {
		if err != nil && diag.CodeOf(err) != diag.ThreadState {
			failed = append(failed, err)
		}
	}
	settle := func(o *Owner, id string) {
		done(o.Reserve(ctx, id, "m", 20))
		_, err := o.Settle(ctx, id, 7, false)
		done(err)
	}
	settle(o, "c1")
	child, err := o.Child(ctx, Thread{ID: "b", Kind: "thread"}, 40)
	if err != nil { // the parent was released before the kill
		done(err)
		child = &Owner{store: s, thread: "b", fence: 1, periods: wide}
	}
	settle(child, "c2")
	done(child.Reserve(ctx, "c3", "m", 5))
	_, err = child.Recover(ctx, func(string) Outcome { return Outcome{Sent: true} })
	done(err)
	done(child.Release(ctx, "completed", ""))
	settle(o, "c4")
	done(o.Release(ctx, "completed", ""))
	return errors.Join(append(failed, s.Close())...)
}

// dump returns the rows that must not depend on a crash.
func dump(t *testing.T, dir string) string {
	t.Helper()
	s, err := Open(t.Context(), dir, Params{})
	must(t, err)
	defer s.Close()
	var out strings.Builder
	must(t, s.read(t.Context(), "reading", func(tx *tx) error {
		for _, query := range []string{
			"SELECT id || ' ' || state || ' ' || parent FROM threads ORDER BY id",
			"SELECT 'handle ' || id || ' ' || number FROM handles ORDER BY id",
			"SELECT thread || ' ' || max || ' ' || actual || ' ' || reserved || ' ' || overspent || ' ' || status FROM ledger ORDER BY thread",
			"SELECT id || ' ' || amount || ' ' || settled || ' ' || assumed || ' ' || status FROM reservations ORDER BY id",
			"SELECT length(period) || ' ' || actual || ' ' || reserved FROM user_spend ORDER BY period",
		} {
			rows, err := tx.Query(query)
			if err != nil {
				return err
			}
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				fmt.Fprintln(&out, line)
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return invariants(tx)
	}))
	return out.String()
}

// TestCrashPoints kills a process at each change of a file that it makes. What the next
// process finds is valid, and after the same operations it is what it is without a kill.
func TestCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	self, err := os.Executable()
	must(t, err)
	env := func(role, dir string) []string {
		return append(os.Environ(), "RYE_STORE_DIR="+dir, "RYE_STORE_ROLE="+role)
	}
	run := func(dir string, kill int) testkit.Traced {
		got, err := testkit.Trace{Filter: self, Program: self, Args: []string{self}, Dir: dir, Env: env("filter", dir), Output: os.Stderr, Kill: kill}.Run()
		if errors.Is(err, testkit.ErrNoTracer) {
			t.Skip(err)
		}
		must(t, err)
		return got
	}
	dir := t.TempDir()
	first := run(dir, 0)
	want := dump(t, dir)
	if first.Status != 0 || len(first.Changes) < 30 || !strings.Contains(want, "a 100 26 0 0 released") {
		t.Fatalf("without a kill: status %d, %d changes\n%s", first.Status, len(first.Changes), want)
	}
	step := 1
	if os.Getenv("RYE_CRASH") != "all" {
		step = 9
	}
	for kill := 1; kill <= len(first.Changes); kill += step {
		dir := t.TempDir()
		got := run(dir, kill)
		if !got.Killed {
			t.Errorf("kill %d was not made: status %d", kill, got.Status)
			continue
		}
		dump(t, dir) // opens it, and checks what must hold
		cmd := exec.Command(self)
		cmd.Env = env("script", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("after kill %d at %s: %v\n%s", kill, got.Changes[len(got.Changes)-1], err, out)
		}
		if after := dump(t, dir); after != want {
			t.Errorf("after kill %d at %s:\n%swant\n%s", kill, got.Changes[len(got.Changes)-1], after, want)
		}
	}
	t.Logf("%d changes", len(first.Changes))
}

// TestMigrationCrashPoints kills a process at each change of a file that it makes while it
// gives the threads of the schema before their numbers. The next process finds a store of one
// of the two versions, and the same numbers as without a kill.
func TestMigrationCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	self, err := os.Executable()
	must(t, err)
	run := func(dir string, kill int) testkit.Traced {
		env := append(os.Environ(), "RYE_STORE_DIR="+dir, "RYE_STORE_ROLE=filter-migrate")
		got, err := testkit.Trace{Filter: self, Program: self, Args: []string{self}, Dir: dir, Env: env, Output: os.Stderr, Kill: kill}.Run()
		if errors.Is(err, testkit.ErrNoTracer) {
			t.Skip(err)
		}
		must(t, err)
		return got
	}
	dir := t.TempDir()
	must(t, fourth(dir))
	first := run(dir, 0)
	want := dump(t, dir)
	if first.Status != 0 || len(first.Changes) < 5 || !strings.Contains(want, "handle a 4\nhandle b 2\nhandle y 3\nhandle z 1\n") {
		t.Fatalf("without a kill: status %d, %d changes\n%s", first.Status, len(first.Changes), want)
	}
	for kill := 1; kill <= len(first.Changes); kill++ {
		dir := t.TempDir()
		must(t, fourth(dir))
		got := run(dir, kill)
		if !got.Killed {
			t.Errorf("kill %d was not made: status %d", kill, got.Status)
			continue
		}
		if after := dump(t, dir); after != want {
			t.Errorf("after kill %d at %s:\n%swant\n%s", kill, got.Changes[len(got.Changes)-1], after, want)
		}
	}
	t.Logf("%d changes", len(first.Changes))
}

// traceRoles are the processes of TestCrashPoints.
func traceRoles(dir string) map[string]func() error {
	return map[string]func() error{
		"filter": func() error {
			if err := os.Setenv("RYE_STORE_ROLE", "script"); err != nil {
				return err
			}
			return testkit.FilterMain(os.Args)
		},
		"script": func() error { return spendAll(dir) },
		"filter-migrate": func() error {
			if err := os.Setenv("RYE_STORE_ROLE", "migrate"); err != nil {
				return err
			}
			return testkit.FilterMain(os.Args)
		},
		"migrate": func() error {
			s, err := Open(context.Background(), dir, Params{})
			if err != nil {
				return err
			}
			return s.Close()
		},
	}
}
