package packages

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Sealed returns a source that works offline because of a rule, and says so
// where it has no answer.
func Sealed(s source.Source, r Rule) source.Source { return &sealed{s, r} }

type sealed struct {
	s source.Source
	r Rule
}

// refused names the rule in place of the flag that nobody set.
func (s *sealed) refused(err error) error {
	if !errors.Is(err, source.ErrOffline) {
		return err
	}
	return s.r.detail(diag.New(diag.PolicyDenied, "%w: %s keeps bundles from the network", err, s.r)).
		WithHint("what the cache holds can be used; a person may change policy.offline in %s", s.r.File)
}

// Versions implements source.Source.
func (s *sealed) Versions(ctx context.Context, id lock.ID) (*source.Listing, error) {
	l, err := s.s.Versions(ctx, id)
	return l, s.refused(err)
}

// Resolve implements source.Source.
func (s *sealed) Resolve(ctx context.Context, id lock.ID, query string) (source.Origin, error) {
	o, err := s.s.Resolve(ctx, id, query)
	return o, s.refused(err)
}

// Fetch implements source.Source.
func (s *sealed) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	snap, err := s.s.Fetch(ctx, o)
	return snap, s.refused(err)
}

// Revalidate implements source.Source.
func (s *sealed) Revalidate(ctx context.Context, o source.Origin) error {
	return s.refused(s.s.Revalidate(ctx, o))
}
