package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ryeos/rye/policy"
)

// TestCostsAsCost compares the accounts of all threads, which few queries read, with the account
// of each thread.
func TestCostsAsCost(t *testing.T) {
	t.Parallel()
	g := rand.New(rand.NewPCG(1, 2))
	s := openTest(t, t.TempDir())
	for i := range 6 {
		thread := fmt.Sprintf("thread-%d", i)
		o := register(t, s, thread, 1000)
		for n := range g.IntN(9) {
			// The threads of a chain make their calls by the account of the first.
			link := fmt.Sprintf("%s-%d", thread, g.IntN(3))
			id := fmt.Sprintf("%s/%d", link, n)
			model := fmt.Sprintf("model-%d", g.IntN(3))
			must(t, o.Reserve(t.Context(), id, model, 20))
			if g.IntN(3) > 0 {
				_, err := o.Settle(t.Context(), id, policy.USD(g.IntN(20)), g.IntN(2) == 0)
				must(t, err)
			}
		}
	}
	if _, err := s.db.Exec("UPDATE threads SET project = '/other' WHERE id = 'thread-3'"); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]int{"": 6, "/p": 5, "/other": 1, "/none": 0} {
		all, err := s.Costs(t.Context(), at)
		must(t, err)
		if len(all) != want {
			t.Errorf("%q: %d accounts, want %d", at, len(all), want)
		}
		for _, got := range all {
			one, err := s.Cost(t.Context(), got.Thread, false)
			must(t, err)
			if !reflect.DeepEqual(got, one[0]) {
				t.Errorf("%q: %+v, want %+v", at, got, one[0])
			}
		}
	}
	if _, err := s.db.Exec("PRAGMA foreign_keys = OFF"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("DELETE FROM ledger WHERE thread = 'thread-3'"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Costs(t.Context(), "/other")
	wantCode(t, err, "THREAD_NOT_FOUND")
}
