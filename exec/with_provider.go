package exec

import (
	"context"

	"github.com/ryeos/rye/resolve"
)

// WithProvider returns an executor that makes the calls of models by another function.
// It is the only difference.
func (e *Executor) WithProvider(call func(ctx context.Context, in ProviderCall) (map[string]any, error)) *Executor {
	p := e.p
	p.Provider = call
	return New(p)
}

// WithResolver returns an executor that finds its items by another resolver, such as one
// over items that are not written yet. It is the only difference.
func (e *Executor) WithResolver(r *resolve.Resolver) *Executor {
	p := e.p
	p.Resolver = r
	return New(p)
}
