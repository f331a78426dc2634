package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// wideRunning permits every start of a test.
func wideRunning() policy.Concurrency { return policy.Concurrency{Threads: 1 << 40, Children: 1 << 40} }

// spawned is a thread of the test as a model has it: above are its parent and all above.
type spawned struct {
	id      string
	above   []*spawned
	share   Share
	begun   bool
	ended   bool
	started int64
	owner   *Owner
}

func (n *spawned) active() bool { return !n.ended }

// TestSpawnAgainstModel starts, begins, discards and ends threads of random trees with
// random limits. After each operation every thread above a new one has started no more
// than it may, the depth falls with each level, no more threads run than may, and a
// refused start has changed no row.
func TestSpawnAgainstModel(t *testing.T) {
	refused := map[string]int{}
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 16))
			s := openTest(t, t.TempDir())
			most := policy.Concurrency{Threads: 14, Children: 4}
			root := &spawned{id: "r", begun: true, share: Share{Spend: 100_000, Depth: 4, Spawns: 60}}
			o, err := s.Register(t.Context(), Thread{ID: root.id, Kind: "thread", Depth: 4, Spawns: 60}, Budget{Max: 100_000, Periods: treePeriods()})
			must(t, err)
			root.owner = o
			all := []*spawned{root}
			for n := range 250 {
				th := all[r.IntN(len(all))]
				switch k := r.IntN(10); {
				case k < 6 && th.begun && th.active():
					if c := spawnRandom(t, s, r, th, all, fmt.Sprintf("t%d", n), most, refused); c != nil {
						all = append(all, c)
					}
				case th == root || !th.active():
				case !th.begun && k < 9:
					th.owner, err = s.Register(t.Context(), Thread{ID: th.id}, Budget{Max: th.share.Spend, Periods: treePeriods()})
					must(t, err)
					th.begun = true
				case !th.begun:
					must(t, th.above[0].owner.Discard(t.Context(), th.id))
					for _, up := range th.above {
						up.started--
					}
					all = slices.DeleteFunc(all, func(x *spawned) bool { return x == th })
				case k == 9 && !slices.ContainsFunc(all, func(x *spawned) bool { return x.active() && slices.Contains(x.above, th) }):
					must(t, th.owner.Release(t.Context(), "completed", ""))
					th.ended = true
				}
				checkSpawned(t, s, all)
			}
		})
	}
	for _, limit := range []string{"", "depth", "spawns", "spend", "concurrency.threads", "concurrency.children"} {
		if refused[limit] == 0 {
			t.Errorf("the test does not reach every outcome: %v", refused)
		}
	}
}

// spawnRandom starts a thread and compares the outcome with the model. It is nil if the
// start was refused.
func spawnRandom(t *testing.T, s *Store, r *rand.Rand, up *spawned, all []*spawned, id string, most policy.Concurrency, refused map[string]int) *spawned {
	t.Helper()
	above := append([]*spawned{up}, up.above...)
	ask := Share{Spend: policy.USD(r.IntN(4000)), Depth: r.Int64N(6), Spawns: r.Int64N(30)}
	terms := Terms{Keep: policy.USD(r.IntN(300)), Calls: r.Int64N(4), Least: policy.USD(r.IntN(200))}
	var running, children int64
	left := int64(1 << 40)
	for _, x := range all {
		if x.active() {
			running++
			if len(x.above) > 0 && x.above[0] == up {
				children++
			}
		}
	}
	for _, x := range above {
		left = min(left, x.share.Spawns-x.started)
	}
	account, err := up.owner.Account(t.Context())
	must(t, err)
	// Of what its parent does not keep, a child gets an equal part, but what its first call needs.
	free := max(0, account.Left()-terms.Keep)
	least := min(ask.Spend, terms.Least)
	want, waits := "", children > 0 && account.Reserved > 0
	switch {
	case running >= most.Threads:
		want = "concurrency.threads"
	case children >= most.Children:
		want = "concurrency.children"
	case up.share.Depth < 1:
		want = "depth"
	case left < 1:
		want = "spawns"
	case ask.Spend > 0 && (free == 0 || free < least):
		want = "spend"
	}
	before := dumpRows(t, s)
	got, err := up.owner.Spawn(t.Context(), Thread{ID: id, Kind: "thread"}, ask, terms, most)
	limit := ""
	if e := diag.Typed(err); err != nil {
		limit, _ = e.Details["limit"].(string)
		if e.Retryable != (strings.HasPrefix(limit, "concurrency.") || limit == "spend" && waits) || before != dumpRows(t, s) {
			t.Errorf("refused for %s: retryable %t, or a row has changed", limit, e.Retryable)
		}
	}
	if limit != want {
		t.Fatalf("spawn below %s: %v, want %q", up.id, err, want)
	}
	if refused[limit]++; err != nil {
		return nil
	}
	if w := (Share{min(ask.Spend, max(least, free/policy.USD(max(1, terms.Calls)))), min(ask.Depth, up.share.Depth-1), min(ask.Spawns, left-1)}); got != w {
		t.Fatalf("the share is %+v, want %+v", got, w)
	}
	for _, x := range above {
		x.started++
	}
	return &spawned{id: id, above: above, share: got}
}

// checkSpawned compares the rows with the model.
func checkSpawned(t *testing.T, s *Store, all []*spawned) {
	t.Helper()
	must(t, s.read(t.Context(), "comparing", func(x *tx) error {
		for _, n := range all {
			var depth, spawns, started int64
			if err := x.QueryRow("SELECT depth, spawns, spawned FROM threads WHERE id = ?", n.id).Scan(&depth, &spawns, &started); err != nil {
				return err
			}
			if depth != n.share.Depth || spawns != n.share.Spawns || started != n.started || started > spawns {
				t.Errorf("%s: depth %d, %d of %d spawns; the model has %+v and %d", n.id, depth, started, spawns, n.share, n.started)
			}
			for level, up := range n.above {
				if n.share.Depth+int64(level)+1 > up.share.Depth {
					t.Errorf("%s has %d levels, %s above it %d", n.id, n.share.Depth, up.id, up.share.Depth)
				}
			}
		}
		return treeHolds(x)
	}))
}

// dumpRows returns every row of threads, accounts and reservations.
func dumpRows(t *testing.T, s *Store) (out string) {
	t.Helper()
	must(t, s.read(t.Context(), "reading", func(x *tx) error {
		return x.QueryRow(`SELECT (SELECT group_concat(id || state || parent || depth || spawns || spawned, ',' ORDER BY id) FROM threads) || ';' ||
			(SELECT group_concat(thread || parent || max || actual || reserved || status, ',' ORDER BY thread) FROM ledger) || ';' ||
			coalesce((SELECT group_concat(id || amount || status, ',' ORDER BY id) FROM reservations), '')`).Scan(&out)
	}))
	return out
}

// TestSpawnAtOnce has many owners start threads at the same time: together they start as
// many as the thread above all of them may.
func TestSpawnAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, dir)
	root, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 3, Spawns: 20}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
	var owners []*Owner
	for k := range 8 {
		id := fmt.Sprintf("c%d", k)
		_, err := root.Spawn(t.Context(), Thread{ID: id, Kind: "thread"}, Share{Spend: 100, Depth: 9, Spawns: 9}, Terms{}, wideRunning())
		must(t, err)
		other := openTest(t, dir)
		o, err := other.Register(t.Context(), Thread{ID: id}, Budget{Max: 100, Periods: treePeriods()})
		must(t, err)
		owners = append(owners, o)
	}
	var wait sync.WaitGroup
	for k, o := range owners {
		wait.Go(func() {
			for n := range 4 {
				_, err := o.Spawn(t.Context(), Thread{ID: fmt.Sprintf("c%d-%d", k, n), Kind: "thread"}, Share{Spend: 1}, Terms{}, wideRunning())
				if err != nil && diag.CodeOf(err) != diag.LimitExceeded {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	must(t, s.read(t.Context(), "counting", func(x *tx) error {
		var rows, started int64
		err := x.QueryRow("SELECT (SELECT count(*) - 1 FROM threads), spawned FROM threads WHERE id = 'r'").Scan(&rows, &started)
		if rows != 20 || started != 20 {
			t.Errorf("%d threads, %d counted, want 20", rows, started)
		}
		return err
	}))
}

// TestSpawnAgain resumes a child that was released: its parent reserves its maximum again,
// and a parent that has ended reserves nothing.
func TestSpawnAgain(t *testing.T) {
	s := openTest(t, t.TempDir())
	root, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 1, Spawns: 1}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
	_, err = root.Spawn(t.Context(), Thread{ID: "c", Kind: "thread"}, Share{Spend: 300}, Terms{}, wideRunning())
	must(t, err)
	for range 2 {
		c, err := s.Register(t.Context(), Thread{ID: "c"}, Budget{Max: 300, Periods: treePeriods()})
		must(t, err)
		if a, err := root.Account(t.Context()); err != nil || a.Reserved != 300 {
			t.Errorf("the parent reserves %v: %v", a, err)
		}
		must(t, c.Release(t.Context(), "error", ""))
	}
	must(t, root.Release(t.Context(), "completed", ""))
	if _, err := s.Register(t.Context(), Thread{ID: "c"}, Budget{Max: 300, Periods: treePeriods()}); diag.CodeOf(err) != diag.ThreadState {
		t.Errorf("a child of a thread that has ended: %v", err)
	}
}

// A child that was ended before its process began does not begin: the process that starts it
// again and the one that was late would both do its work. One that had begun is continued.
func TestBeginsOnce(t *testing.T) {
	s := openTest(t, t.TempDir())
	o, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 2, Spawns: 9}, Budget{Max: 100_000, Periods: treePeriods()})
	must(t, err)
	for _, id := range []string{"late", "begun"} {
		_, err := o.Spawn(t.Context(), Thread{ID: id, Kind: "thread"}, Share{Spend: 1000}, Terms{}, wideRunning())
		must(t, err)
	}
	begin := func(id string) error {
		_, err := s.Register(t.Context(), Thread{ID: id, Kind: "thread", Begins: true}, Budget{Max: 1000, Periods: treePeriods()})
		return err
	}
	must(t, begin("begun"))
	for _, id := range []string{"late", "begun"} {
		must(t, s.End(t.Context(), id, "error", "orphaned"))
		if err := begin(id); diag.CodeOf(err) != diag.ThreadState {
			t.Errorf("%s began: %v", id, err)
		}
	}
	_, err = s.Register(t.Context(), Thread{ID: "begun", Kind: "thread"}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
}

// TestSpawnDivides starts children of a thread with little money: each gets an equal part of
// what the thread does not keep, no less than its first call costs, and the others wait as
// long as a child that runs can return money.
func TestSpawnDivides(t *testing.T) {
	s := openTest(t, t.TempDir())
	root, err := s.Register(t.Context(), Thread{ID: "r", Kind: "thread", Depth: 1, Spawns: 9}, Budget{Max: 1000, Periods: treePeriods()})
	must(t, err)
	start := func(id string, terms Terms) (policy.USD, *diag.Error) {
		got, err := root.Spawn(t.Context(), Thread{ID: id, Kind: "thread"}, Share{Spend: 5000, Depth: 1, Spawns: 1}, terms, wideRunning())
		if err != nil {
			return 0, diag.Typed(err)
		}
		return got.Spend, nil
	}
	for i, want := range []policy.USD{300, 300, 300} {
		if got, err := start(fmt.Sprint("c", i), Terms{Keep: 100, Calls: int64(3 - i), Least: 200}); got != want || err != nil {
			t.Errorf("child %d of 3 gets %d, want %d: %v", i, got, want, err)
		}
	}
	_, refused := start("c4", Terms{Keep: 100, Calls: 1, Least: 200})
	if refused == nil || !refused.Retryable || refused.Details["left"] != policy.USD(100).String() || refused.Details["needed"] != policy.USD(300).String() {
		t.Errorf("a child while the others have the money: %+v", refused)
	}
	for i := range 3 {
		c, err := s.Register(t.Context(), Thread{ID: fmt.Sprint("c", i)}, Budget{Max: 300, Periods: treePeriods()})
		must(t, err)
		if i < 2 {
			must(t, c.Release(t.Context(), "completed", ""))
		} else {
			must(t, c.Suspend(t.Context(), "a person"))
		}
	}
	// 600 of 1000 went back: two parts of 250 do not pay a first call of 300.
	if got, err := start("c5", Terms{Keep: 100, Calls: 2, Least: 400}); got != 400 || err != nil {
		t.Errorf("a child that needs more than its part gets %d: %v", got, err)
	}
	must(t, s.End(t.Context(), "c5", "error", ""))
	// Only the suspended one holds money: it is not waited for.
	if _, refused := start("c6", Terms{Keep: 100, Calls: 1, Least: 900}); refused == nil || refused.Retryable {
		t.Errorf("a child while a suspended one has the money: %+v", refused)
	}
}
