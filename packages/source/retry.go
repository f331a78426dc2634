package source

import (
	"context"
	"errors"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// RetryParams says how often and how patiently. The zero value works.
type RetryParams struct {
	Times int // attempts after the first; 0 means 2, negative none
	// Wait pauses before an attempt, counted from 1, and returns early with
	// the reason when ctx ends. Nil waits 0.2 s, doubled each time.
	Wait func(ctx context.Context, attempt int) error
}

// Retry returns a source that tries again what failed for a reason that may
// pass. Refusals are never tried again.
func Retry(s Source, p RetryParams) Source {
	if p.Times == 0 {
		p.Times = 2
	}
	if p.Wait == nil {
		p.Wait = backOff
	}
	return &retry{s, p}
}

type retry struct {
	s Source
	p RetryParams
}

func backOff(ctx context.Context, attempt int) error {
	t := time.NewTimer(100 * time.Millisecond << min(attempt, 10))
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
	for i := 1; i <= r.p.Times && passing(err) && ctx.Err() == nil; i++ {
		if r.p.Wait(ctx, i) != nil {
			return err
		}
		err = fn()
	}
	return err
}

func passing(err error) bool {
	var e *diag.Error
	return errors.As(err, &e) && e.Retryable
}

// Versions implements Source.
func (r *retry) Versions(ctx context.Context, id lock.ID) (l *Listing, err error) {
	err = r.do(ctx, func() error { l, err = r.s.Versions(ctx, id); return err })
	return l, err
}

// Resolve implements Source.
func (r *retry) Resolve(ctx context.Context, id lock.ID, query string) (o Origin, err error) {
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
	return r.do(ctx, func() error { return r.s.Revalidate(ctx, o) })
}
