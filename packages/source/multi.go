package source

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Multi uses the source of the kind of an id.
type Multi map[lock.IDKind]Source

func (m Multi) of(id lock.ID) (Source, error) {
	if s := m[id.Kind]; s != nil {
		return s, nil
	}
	return nil, diag.New(diag.SourceNotFound, "looking for %s: rye has no source for ids of the kind %s", id, id.Kind).WithReason("no_source")
}

// Versions implements Source.
func (m Multi) Versions(ctx context.Context, id lock.ID) (*Listing, error) {
	s, err := m.of(id)
	if err != nil {
		return nil, err
	}
	return s.Versions(ctx, id)
}

// Resolve implements Source.
func (m Multi) Resolve(ctx context.Context, id lock.ID, query string) (Origin, error) {
	s, err := m.of(id)
	if err != nil {
		return Origin{}, err
	}
	return s.Resolve(ctx, id, query)
}

// Fetch implements Source.
func (m Multi) Fetch(ctx context.Context, o Origin) (*Snapshot, error) {
	s, err := m.of(o.ID)
	if err != nil {
		return nil, err
	}
	return s.Fetch(ctx, o)
}

// Revalidate implements Source.
func (m Multi) Revalidate(ctx context.Context, o Origin) error {
	s, err := m.of(o.ID)
	if err != nil {
		return err
	}
	return s.Revalidate(ctx, o)
}
