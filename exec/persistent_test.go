package exec

import (
	"context"
	"testing"
)

// What a program that stays calls belongs to the call that it answers. It answers none before the
// first and between two calls.
func TestCurrentCall(t *testing.T) {
	type key struct{}
	c := &currentCall{Context: context.WithValue(t.Context(), key{}, "start")}
	ctx := context.WithoutCancel(c)
	if _, answering := c.get(); answering || ctx.Value(key{}) != "start" {
		t.Error("before the first call:", answering, ctx.Value(key{}))
	}
	second := context.WithValue(t.Context(), key{}, "second")
	for _, answering := range []bool{true, false} {
		c.now.Store(&oneCall{second, Call{Key: "k"}, answering})
		call, now := c.get()
		if call.Key != "k" || now != answering || ctx.Value(key{}) != "second" {
			t.Error(call.Key, now, ctx.Value(key{}), "not of the second call; answering", answering)
		}
	}
}
