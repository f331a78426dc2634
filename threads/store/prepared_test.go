package store

import (
	"database/sql"
	"testing"

	"github.com/ryeos/rye/policy"
)

// Every statement of a call is compiled once, and the calls have the same results with and
// without that.
func TestPrepared(t *testing.T) {
	for _, prepared := range []bool{true, false} {
		s := openTest(t, t.TempDir())
		o, err := s.Register(t.Context(), Thread{ID: "a-1", Project: t.TempDir(), Kind: "thread", Ref: "directive:a"}, Budget{Max: 100, Periods: policy.Periods{PerDay: 90, PerMonth: 500}})
		must(t, err)
		if !prepared {
			s.prepared = map[string]*sql.Stmt{}
		}
		for _, id := range []string{"one", "two"} {
			must(t, o.Reserve(t.Context(), id, "m", 20))
			if _, err := o.Settle(t.Context(), id, 15, false); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := o.Left(t.Context()); err != nil || left != 60 {
			t.Errorf("left: %v, %v", left, err)
		}
		if err := o.Reserve(t.Context(), "three", "m", 61); err == nil {
			t.Error("more than the day permits is reserved")
		}
		if prepared && len(s.prepared) != 10 {
			t.Errorf("%d statements are compiled, want 10", len(s.prepared))
		}
	}
}
