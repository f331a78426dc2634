package main

import (
	"context"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/store"
)

// cmdSpend writes a thread of the project into the store, as a thread would:
// spend ID MAX [parent=ID] [MODEL:RESERVED[:COST[:assumed]]…]. Without a cost the call
// is not answered yet.
func cmdSpend(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: spend ID MAX [parent=ID] [MODEL:RESERVED[:COST[:assumed]]…]")
	}
	ctx := context.Background()
	s, err := store.Open(ctx, store.Dir(userdirs.For(ts.Getenv, "linux").State), store.Params{})
	ts.Check(err)
	defer s.Close()
	usd := func(text string) policy.USD {
		n, err := policy.ParseUSD(text)
		ts.Check(err)
		return n
	}
	month := policy.Periods{PerDay: usd("1000"), PerMonth: usd("1000"), WarnAt: 0.8}
	th := store.Thread{ID: args[0], Project: ts.Getenv("WORK"), Kind: "thread", Ref: "directive:team/triage"}
	var o *store.Owner
	if parent, ok := strings.CutPrefix(args[min(2, len(args)-1)], "parent="); ok {
		have, err := s.Cost(ctx, parent, false)
		ts.Check(err)
		above, err := s.Register(ctx, store.Thread{ID: parent}, store.Budget{Max: have[0].Max, Periods: month})
		ts.Check(err)
		o, err = above.Child(ctx, th, usd(args[1]))
		ts.Check(err)
		args = args[1:]
	} else {
		o, err = s.Register(ctx, th, store.Budget{Max: usd(args[1]), Periods: month})
		ts.Check(err)
	}
	for _, call := range args[2:] {
		part := strings.Split(call, ":")
		id := th.ID + call + time.Now().String()
		ts.Check(o.Reserve(ctx, id, part[0], usd(part[1])))
		if len(part) > 2 {
			_, err := o.Settle(ctx, id, usd(part[2]), len(part) > 3)
			ts.Check(err)
		}
	}
}
