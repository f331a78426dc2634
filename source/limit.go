package source

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Limit returns a source that does at most n things at once.
func Limit(s Source, n int) Source {
	return &limit{s, make(chan struct{}, max(1, n))}
}

type limit struct {
	s     Source
	slots chan struct{}
}

func (l *limit) enter(ctx context.Context) (func(), error) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, diag.New(diag.Cancelled, "waiting for a turn: %w", context.Cause(ctx))
	}
}

// Versions implements Source.
func (l *limit) Versions(ctx context.Context, id lock.ID) (*Listing, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.s.Versions(ctx, id)
}

// Resolve implements Source.
func (l *limit) Resolve(ctx context.Context, id lock.ID, query string) (Origin, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return Origin{}, err
	}
	defer leave()
	return l.s.Resolve(ctx, id, query)
}

// Fetch implements Source.
func (l *limit) Fetch(ctx context.Context, o Origin) (*Snapshot, error) {
	leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return l.s.Fetch(ctx, o)
}

// Revalidate implements Source.
func (l *limit) Revalidate(ctx context.Context, o Origin) error {
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return l.s.Revalidate(ctx, o)
}
