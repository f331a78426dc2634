package packages

import (
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// OfflineByRule returns a source that works offline because of a rule, and names
// the rule when it has no answer.
func OfflineByRule(s source.Source, r Rule) source.Source {
	return &offlineByRule{s, r}
}

type offlineByRule struct {
	s source.Source
	r Rule
}

// name replaces the error of --offline, which the user did not set.
func (s *offlineByRule) name(err error) error {
	if !errors.Is(err, source.ErrOffline) {
		return err
	}
	return s.r.detail(diag.New(diag.PolicyDenied, "%w: %s allows no network for bundles", err, s.r))
}

// Versions implements source.Source.
func (s *offlineByRule) Versions(ctx context.Context, id lock.ID) (*source.Listing, error) {
	l, err := s.s.Versions(ctx, id)
	return l, s.name(err)
}

// Resolve implements source.Source.
func (s *offlineByRule) Resolve(
	ctx context.Context,
	id lock.ID,
	query string,
) (source.Origin, error) {
	o, err := s.s.Resolve(ctx, id, query)
	return o, s.name(err)
}

// Fetch implements source.Source.
func (s *offlineByRule) Fetch(ctx context.Context, o source.Origin) (*source.Snapshot, error) {
	snap, err := s.s.Fetch(ctx, o)
	return snap, s.name(err)
}

// Revalidate implements source.Source.
func (s *offlineByRule) Revalidate(ctx context.Context, o source.Origin) error {
	return s.name(s.s.Revalidate(ctx, o))
}
