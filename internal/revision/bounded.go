package revision

import (
	"context"
	"errors"
	"time"
)

// bounded is a context that ends after a time in which no question to a person was open.
type bounded struct {
	context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	asked  context.Context // ends with the parent only
}

func newBounded(parent context.Context, d time.Duration) *bounded {
	ctx, cancel := context.WithCancelCause(parent)
	b := &bounded{
		Context: ctx,
		left:    d,
		since:   time.Now(),
		asked:   parent,
	}
	b.cancel = func() { cancel(nil) }
	b.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return b
}

// Err implements context.Context.
func (b *bounded) Err() error {
	if errors.Is(context.Cause(b.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return b.Context.Err()
}

// Value implements context.Context. It does not return the context inside, so that derived
// contexts get the error of Err.
func (b *bounded) Value(key any) any {
	return b.asked.Value(key)
}

// without returns a function that asks, and during which the time does not pass. Its calls
// must not overlap. It returns nil for nil.
func (b *bounded) without(ask func(ctx context.Context, text, question string) (bool, error)) func(context.Context, string, string) (bool, error) {
	if ask == nil {
		return nil
	}
	return func(_ context.Context, text, question string) (bool, error) {
		if b.timer.Stop() {
			b.left -= time.Since(b.since)
			defer func() {
				b.since = time.Now()
				b.timer.Reset(max(b.left, time.Second))
			}()
		}
		return ask(b.asked, text, question)
	}
}
