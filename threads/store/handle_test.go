package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/sqlite"
)

func text(s string) *string { return &s }

// numbersOf returns the numbers of a store by id.
func numbersOf(t *testing.T, s *Store) map[string]int64 {
	t.Helper()
	list, err := s.Handles(t.Context(), "")
	must(t, err)
	out := map[string]int64{}
	for _, h := range list {
		out[h.ID] = h.Number
	}
	return out
}

// startMany registers threads and numbers runs, each with an id of its own, and prints the
// numbers.
func startMany(dir, id string) error {
	ctx, cancel := contextOfProcess()
	defer cancel()
	for n := range 40 {
		s, err := Open(ctx, dir, Params{}) // as each command does
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%d", id, n)
		if n%2 == 0 {
			_, err = s.Register(ctx, Thread{ID: name, Project: "/p", Kind: "thread"}, Budget{Max: 1, Periods: wide})
		}
		if err != nil {
			return err
		}
		number, err := s.Number(ctx, Handle{ID: name, Project: "/p"})
		if err != nil {
			return err
		}
		if err := s.Close(); err != nil {
			return err
		}
		fmt.Println(number)
	}
	return nil
}

// TestNumbersOfProcesses starts processes at the same time that begin threads and runs in a
// new store. No number is given twice, and each process gets greater ones.
func TestNumbersOfProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts many processes")
	}
	const processes = 8
	dir := t.TempDir()
	outs := make([]io.Reader, processes)
	for i := range outs {
		cmd, _, out := process(t, dir, "numbers", fmt.Sprint(i))
		outs[i] = out
		defer func() { must(t, cmd.Wait()) }()
	}
	seen := map[int64]int{}
	for i, out := range outs {
		b, err := io.ReadAll(out)
		must(t, err)
		last := int64(0)
		for _, f := range strings.Fields(string(b)) {
			var n int64
			must(t, json.Unmarshal([]byte(f), &n))
			if by, twice := seen[n]; twice || n <= last {
				t.Errorf("process %d got %d after %d; process %d had it", i, n, last, by)
			}
			seen[n], last = i, n
		}
	}
	if len(seen) != processes*40 {
		t.Errorf("%d numbers", len(seen))
	}
	for id, n := range numbersOf(t, openTest(t, dir)) {
		if _, ok := seen[n]; !ok {
			t.Errorf("%s has %d, which no process printed", id, n)
		}
	}
}

// TestNumbersAreNotUsedAgain discards a child, and loses the store: the numbers that were used
// are not given to others.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openTest(t, dir)
	o, err := s.Register(t.Context(), Thread{ID: "a", Project: "/p", Kind: "thread", Depth: 1, Spawns: 5}, Budget{Max: 100, Periods: wide})
	must(t, err)
	_, err = o.Spawn(t.Context(), Thread{ID: "b", Project: "/p", Kind: "thread"}, Share{Spend: 10}, Terms{Calls: 1}, wideRunning())
	must(t, err)
	must(t, o.Discard(t.Context(), "b"))
	n, err := s.Number(t.Context(), Handle{ID: "c", Project: "/p"})
	must(t, err)
	if n != 3 {
		t.Errorf("the next number is %d", n)
	}
	register(t, s, "trial", 10)
	must(t, s.Close())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(filepath.Join(dir, File+suffix)) // the last two can be missing
	}
	s = openTest(t, dir)
	if n, err = s.Number(t.Context(), Handle{ID: "d", Project: "/p"}); err != nil || n <= 4 {
		t.Errorf("after the loss of the store the next number is %d (%v)", n, err)
	}
	must(t, s.Close()) // Windows removes no open file
	must(t, os.WriteFile(filepath.Join(dir, numbersFile), []byte("?"), 0o600))
	must(t, os.Remove(filepath.Join(dir, File)))
	_, err = Open(t.Context(), dir, Params{})
	wantCode(t, err, diag.FileSystemError, numbersFile)
}

// TestRebuildNumbers rebuilds stores from logs whose numbers collide: the thread that the
// former store has with a number keeps it, else the one that began first, and a lost store
// gets the same numbers again.
func TestRebuildNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	logs := []Handle{
		{ID: "first", Logged: 1, Began: at(1)},
		{ID: "copied", Logged: 2, Began: at(0)}, // of another machine: it began before
		{ID: "second", Logged: 2, Began: at(2)},
		{ID: "old", Began: at(0)}, // of an earlier version
		{ID: "older", Began: at(-1)},
		{ID: "absurd", Logged: 1 << 62, Began: at(5)},
	}
	rebuild := func(list ...Handle) map[string]int64 {
		t.Helper()
		must(t, Rebuild(t.Context(), dir, Params{Now: func() time.Time { return noon }}, func(*Store) (Content, error) {
			return Content{Handles: list}, nil
		}))
		s := openTest(t, dir)
		defer s.Close()
		return numbersOf(t, s)
	}
	s := openTest(t, dir)
	for _, id := range []string{"first", "second"} {
		_, err := s.Number(t.Context(), Handle{ID: id, Project: "/p"})
		must(t, err)
	}
	must(t, s.Close())
	want := rebuild(logs...)
	if want["first"] != 1 || want["second"] != 2 || want["copied"] < 3 || want["older"] >= want["old"] || want["absurd"] > maxNumber {
		t.Fatalf("numbers %v", want)
	}
	var used []int64
	for _, n := range want {
		used = append(used, n)
	}
	if slices.Sort(used); len(slices.Compact(used)) != len(logs) {
		t.Fatalf("numbers %v", want)
	}
	for _, lost := range []bool{false, true} {
		if lost {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(filepath.Join(dir, File+suffix))
			}
		}
		slices.Reverse(logs)
		if got := rebuild(logs...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("lost %t: %v, not %v", lost, got, want)
		}
	}
}

// fourth makes a store of the schema before numbers, with threads in an order that is not that
// of their ids.
func fourth(dir string) error {
	db, err := sqlite.Open(filepath.Join(dir, File))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := sqlite.UseLog(context.Background(), db); err != nil {
		return err
	}
	for _, schema := range migrations()[:4] {
		if _, err := db.Exec(schema); err != nil {
			return err
		}
	}
	for i, id := range []string{"z", "b", "trial", "y", "a"} {
		kind := map[string]string{"trial": "provider_try", "y": "run"}[id]
		if kind == "" {
			kind = "thread"
		}
		_, err := db.Exec(`INSERT INTO threads(id, project, kind, ref, digest, parent, root, state, reason, model, created, ended, fence)
			VALUES(?, '/p', ?, 'directive:a/b', '', '', ?, 'completed', '', 'm', ?, 0, 1)`, id, kind, id, 1000+i)
		if err == nil {
			_, err = db.Exec("INSERT INTO ledger(thread, parent, max, actual, reserved, overspent, status) VALUES(?, '', 10, 7, 0, 0, 'released')", id)
		}
		if err != nil {
			return err
		}
	}
	_, err = db.Exec("PRAGMA user_version = 4")
	return err
}

// TestMigrateHandles numbers the threads of the schema before, in the order of their start.
func TestMigrateHandles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, fourth(dir))
	s := openTest(t, dir)
	if got := fmt.Sprint(numbersOf(t, s)); got != "map[a:4 b:2 y:3 z:1]" {
		t.Errorf("numbers %s", got)
	}
	costs, err := s.Costs(t.Context(), "/p")
	must(t, err)
	if len(costs) != 5 || costs[0].Thread != "a" || costs[0].Number != 4 || costs[0].Described {
		t.Errorf("rows %+v", costs)
	}
	must(t, s.Describe(t.Context(), []Handle{{ID: "a", Name: text("issue.md"), Waiting: text("")}}))
	h, ok, err := s.Handle(t.Context(), "", 4)
	if err != nil || !ok || h.ID != "a" || *h.Name != "issue.md" {
		t.Errorf("handle %+v %v", h, err)
	}
}
