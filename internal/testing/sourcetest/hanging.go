package sourcetest

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Hanging is a source that never answers: every call waits for its ctx.
type Hanging struct{}

func wait(ctx context.Context) error {
	<-ctx.Done()
	return diag.New(diag.Cancelled, "waiting for nothing: %w", context.Cause(ctx))
}

// Versions implements source.Source.
func (Hanging) Versions(ctx context.Context, _ lock.ID) (*source.Listing, error) {
	return nil, wait(ctx)
}

// Resolve implements source.Source.
func (Hanging) Resolve(ctx context.Context, _ lock.ID, _ string) (source.Origin, error) {
	return source.Origin{}, wait(ctx)
}

// Fetch implements source.Source.
func (Hanging) Fetch(ctx context.Context, _ source.Origin) (*source.Snapshot, error) {
	return nil, wait(ctx)
}

// Revalidate implements source.Source.
func (Hanging) Revalidate(ctx context.Context, _ source.Origin) error {
	return wait(ctx)
}
