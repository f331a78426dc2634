package exec

import (
	"context"
	"testing"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// A call that is made during a call has its facts, and not its user.
func TestCallBelow(t *testing.T) {
	outer := Call{
		Held:     policy.Person(),
		Thread:   "t1",
		Key:      "t1/c1",
		Depth:    2,
		Readable: []string{"/tmp/conversation"},
		ID:       "c1",
		Node:     "3",
		Run:      "r1",
		Ask:      func(context.Context, Asked) (bool, error) { return true, nil },
		OnLine:   func(proc.Stream, []byte) {},
	}
	inner := outer.Below(nil)
	if inner.Thread != "t1" || inner.Key != "t1/c1" || inner.Depth != 2 || len(inner.Readable) != 1 || inner.ID != "c1" || inner.Node != "3" || inner.Run != "r1" {
		t.Errorf("a fact of the outer call is missing: %+v", inner)
	}
	if inner.Held != nil || inner.Ask != nil || inner.OnLine != nil {
		t.Error("it has the permissions or the user of the outer call")
	}
}
