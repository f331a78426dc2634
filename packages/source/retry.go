package source

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// maxRetries is how many attempts follow the first.
const maxRetries = 2

// Retry returns a source that repeats calls which failed with a retryable error,
// after 0.2 s and after another 0.4 s.
func Retry(s Source) Source {
	return &retry{s}
}

type retry struct{ s Source }

// backOff waits before an attempt, counted from 1. It returns early with the cause
// of ctx.
func backOff(ctx context.Context, attempt int) error {
	t := time.NewTimer(100 * time.Millisecond << attempt)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *retry) do(ctx context.Context, fn func() error) error {
	err := fn()
	for i := 1; i <= maxRetries && isRetryable(err) && ctx.Err() == nil; i++ {
		if backOff(ctx, i) != nil {
			return err
		}
		err = fn()
	}
	return err
}

func isRetryable(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Retryable && !errors.Is(err, ErrTooLong)
}

// Versions implements Source.
func (r *retry) Versions(ctx context.Context, id lock.ID) (l *Listing, err error) {
	err = r.do(ctx, func() error { l, err = r.s.Versions(ctx, id); return err })
	return l, err
}

// Resolve implements Source.
func (r *retry) Resolve(
	ctx context.Context,
	id lock.ID,
	query string,
) (o Origin, err error) {
	err = r.do(ctx, func() error { o, err = r.s.Resolve(ctx, id, query); return err })
	return o, err
}

// Fetch implements Source.
func (r *retry) Fetch(ctx context.Context, o Origin) (s *Snapshot, err error) {
	err = r.do(ctx, func() error { s, err = r.s.Fetch(ctx, o); return err })
	return s, err
}

// Revalidate implements Source.
func (r *retry) Revalidate(ctx context.Context, o Origin) error {
	return r.do(ctx, func() error {
		return r.s.Revalidate(ctx, o)
	})
}
