package source

import (
	"context"

	"github.com/ryeos/rye/internal/once"
	"github.com/ryeos/rye/lock"
)

// Memo returns a source that makes each call once, also when goroutines make it at
// the same time. It keeps results without limit: use one per command. Errors are
// not kept.
func Memo(s Source) Source {
	return &memo{s: s}
}

type memo struct {
	s        Source
	versions once.Map[lock.ID, *Listing]
	resolved once.Map[[2]string, Origin]
	fetched  once.Map[Origin, *Snapshot]
	valid    once.Map[Origin, struct{}]
}

// Versions implements Source.
func (m *memo) Versions(ctx context.Context, id lock.ID) (*Listing, error) {
	return m.versions.Get(ctx, id, func() (*Listing, error) {
		return m.s.Versions(ctx, id)
	})
}

// Resolve implements Source.
func (m *memo) Resolve(ctx context.Context, id lock.ID, query string) (Origin, error) {
	return m.resolved.Get(
		ctx,
		[2]string{id.String(), query},
		func() (Origin, error) {
			return m.s.Resolve(ctx, id, query)
		},
	)
}

// Fetch implements Source.
func (m *memo) Fetch(ctx context.Context, o Origin) (*Snapshot, error) {
	return m.fetched.Get(ctx, o, func() (*Snapshot, error) {
		return m.s.Fetch(ctx, o)
	})
}

// Revalidate implements Source.
func (m *memo) Revalidate(ctx context.Context, o Origin) error {
	_, err := m.valid.Get(ctx, o, func() (struct{}, error) {
		return struct{}{}, m.s.Revalidate(ctx, o)
	})
	return err
}
