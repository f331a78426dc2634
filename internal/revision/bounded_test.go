package revision

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestBounded asks for longer than the time: it passes before and after a question only.
func TestBounded(t *testing.T) {
	b := newBounded(t.Context(), 50*time.Millisecond)
	defer b.cancel()
	if b.without(nil) != nil {
		t.Fatal("a function that asks without a terminal")
	}
	ask := b.without(func(ctx context.Context, text, question string) (bool, error) {
		time.Sleep(150 * time.Millisecond)
		if ctx.Err() != nil || b.Err() != nil {
			t.Errorf("ended while a question is open: %v, %v", ctx.Err(), b.Err())
		}
		return text+question == "ab", nil
	})
	if yes, err := ask(t.Context(), "a", "b"); !yes || err != nil {
		t.Fatal(yes, err)
	}
	child, cancel := context.WithCancel(b)
	defer cancel()
	if b.Err() != nil {
		t.Fatal("ended by a question")
	}
	select {
	case <-child.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("does not end")
	}
	if !errors.Is(b.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
		t.Errorf("%v, %v", b.Err(), child.Err())
	}
}
