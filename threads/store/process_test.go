package store

import (
	"bufio"
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

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/policy"
)

// processMax is the budget of the shared thread. The calls of all processes together
// are far more.
const processMax = 100_000

// TestMain makes the test binary a process of a test.
func TestMain(m *testing.M) {
	if role := traceRoles(os.Getenv("RYE_STORE_DIR"))[os.Getenv("RYE_STORE_ROLE")]; role != nil {
		if err := role(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	switch dir := os.Getenv("RYE_STORE_DIR"); os.Getenv("RYE_STORE_ROLE") {
	case "tree-worker":
		os.Exit(status(treeWorker(dir, os.Getenv("RYE_STORE_ID"))))
	case "numbers":
		os.Exit(status(startMany(dir, os.Getenv("RYE_STORE_ID"))))
	case "rebuild-full":
		os.Exit(status(rebuildFull(dir)))
	case "tree-observer":
		os.Exit(status(treeObserver(dir)))
	case "worker":
		os.Exit(worker(dir, os.Getenv("RYE_STORE_ID")))
	case "observer":
		os.Exit(observer(dir))
	}
	os.Exit(m.Run())
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// worker makes calls that cost their whole reservation, in the thread "shared", and
// writes a line for each operation that is done. It ends when the budget does.
func worker(dir, id string) int {
	ctx, cancel := contextOfProcess()
	defer cancel()
	s, err := Open(ctx, dir, Params{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := &Owner{store: s, thread: "shared", fence: 1, periods: policy.Periods{PerDay: 1 << 40, PerMonth: 1 << 40}}
	for n := 0; ; n++ {
		call, amount := fmt.Sprintf("%s-%d", id, n), policy.USD(rand.IntN(100)+1)
		if err := o.Reserve(ctx, call, "m", amount); err != nil {
			fmt.Println("end", err)
			return 0
		}
		fmt.Println("reserved", call, int64(amount))
		if _, err := o.Settle(ctx, call, amount, false); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("settled", call, int64(amount))
	}
}

// observer reads the account every millisecond until its input ends and once more then,
// and prints how often it read, and the largest sum.
func observer(dir string) int {
	ctx, cancel := contextOfProcess()
	defer cancel()
	s, err := Open(ctx, dir, Params{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	done := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(done) }()
	var reads, largest int64
	tick := time.NewTicker(time.Millisecond)
	for last := false; !last; {
		select {
		case <-done:
			last = true
		case <-tick.C:
		}
		err := s.read(ctx, "observing", func(t *tx) error {
			a, err := t.account("shared")
			if err != nil {
				return err
			}
			reads, largest = reads+1, max(largest, int64(a.Actual+a.Reserved))
			return invariants(t)
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode([]int64{reads, largest})
	return 0
}

// process starts the test binary in a role.
func process(t *testing.T, dir, role, id string) (*exec.Cmd, io.WriteCloser, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "RYE_STORE_DIR="+dir, "RYE_STORE_ROLE="+role, "RYE_STORE_ID="+id)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, in, out
}

// TestProcesses starts processes that spend one budget, kills them at random moments, and has
// another one read the store: actual and reserved never exceed the maximum, and nothing that a
// process reported is lost.
func TestProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	workers, rounds, budget := 6, 4, policy.USD(processMax)
	dir := t.TempDir()
	s := openTest(t, dir)
	register(t, s, "shared", budget)
	watch, watchIn, watchOut := process(t, dir, "observer", "")
	reported := map[string]string{} // the last word about each call
	for round := range rounds {
		type started struct {
			cmd *exec.Cmd
			out io.Reader
		}
		var all []started
		for w := range workers {
			cmd, _, out := process(t, dir, "worker", fmt.Sprintf("%d-%d", round, w))
			all = append(all, started{cmd, out})
			if round < rounds-1 || w%2 == 0 {
				time.AfterFunc(time.Duration(150+rand.IntN(400))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		for _, w := range all {
			for lines := bufio.NewScanner(w.out); lines.Scan(); {
				if f := strings.Fields(lines.Text()); len(f) == 3 && f[0] != "end" {
					reported[f[1]] = f[0] + " " + f[2]
				}
			}
			_ = w.cmd.Wait() // killed
		}
	}
	must(t, watchIn.Close())
	var seen []int64
	must(t, json.NewDecoder(watchOut).Decode(&seen))
	must(t, watch.Wait())
	t.Logf("%d calls, read %d times, at most %d of %d", len(reported), seen[0], seen[1], budget)
	if seen[0] == 0 || seen[1] > int64(budget) || seen[1] < int64(budget)-100 {
		t.Errorf("read %d times, at most %d of %d", seen[0], seen[1], budget)
	}
	checkReported(t, s, reported)
	recoverAll(t, s, budget)
	left, err := os.ReadDir(dir)
	must(t, err)
	for _, f := range left {
		switch f.Name() {
		case File, File + "-wal", File + "-shm", "store.gate", projectsFile, numbersFile, atomicfile.TempDir:
		default:
			t.Errorf("the file %s is left", f.Name())
		}
	}
}

// checkReported compares what processes reported with the store.
func checkReported(t *testing.T, s *Store, reported map[string]string) {
	t.Helper()
	err := s.read(t.Context(), "comparing", func(tx *tx) error {
		for id, word := range reported {
			r, ok, err := tx.reservation(id)
			if err != nil {
				return err
			}
			what, amount, _ := strings.Cut(word, " ")
			n, err := strconv.ParseInt(amount, 10, 64)
			if !ok || err != nil || what == "settled" && (r.status != settled || int64(r.settled) != n) || what == "reserved" && int64(r.amount) != n {
				t.Errorf("%s was reported as %q, and is %+v", id, word, r)
			}
		}
		return invariants(tx)
	})
	must(t, err)
}

// recoverAll settles what the killed processes left open as sent, in full.
func recoverAll(t *testing.T, s *Store, budget policy.USD) {
	t.Helper()
	o := register(t, s, "shared", budget)
	before, err := s.Cost(t.Context(), "shared", false)
	must(t, err)
	_, err = o.Recover(t.Context(), func(string) Outcome { return Outcome{Sent: true} })
	must(t, err)
	after, err := s.Cost(t.Context(), "shared", false)
	must(t, err)
	if after[0].Reserved != 0 || after[0].Actual != before[0].Actual+before[0].Reserved || after[0].Actual > budget {
		t.Errorf("recovered %+v from %+v", after[0].Account, before[0].Account)
	}
	must(t, o.Release(t.Context(), "error", "killed"))
}

func contextOfProcess() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 8*time.Minute) // the time for the tests of a package is 10 minutes
}
