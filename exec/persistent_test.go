package exec

import (
	"context"
	"testing"
)

// What a program that stays calls has the values of the call that it answers, and is idle between
// two calls.
func TestCallContext(t *testing.T) {
	type key struct{}
	c := &callContext{Context: context.WithValue(t.Context(), key{}, "start")}
	ctx := context.WithoutCancel(c)
	if !Idle(ctx) || ctx.Value(key{}) != "start" {
		t.Error(Idle(ctx), ctx.Value(key{}))
	}
	c.set(context.WithValue(t.Context(), key{}, "second"), false)
	if Idle(ctx) || ctx.Value(key{}) != "second" {
		t.Error(Idle(ctx), ctx.Value(key{}))
	}
	c.set(context.WithValue(t.Context(), key{}, "second"), true)
	if !Idle(ctx) || Idle(t.Context()) {
		t.Error("not idle after the answer, or idle without a program")
	}
}
