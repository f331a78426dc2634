package exec

import (
	"context"
	"maps"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Bindings connect an Executor with what makes its calls, such as a thread. A nil field keeps
// what the Executor has.
type Bindings struct {
	Natives map[string]Native // replace the functions of the same names
	Provide func(ctx context.Context, in ProviderCall) (map[string]any, error)
	Approve func(ctx context.Context, call Call, about policy.Call) error
	Broker  func(ctx context.Context, held policy.Held, current Current) (Connection, error)
}

// With returns an executor with bindings. They are the only difference: what e has read is kept.
func (e *Executor) With(b Bindings) *Executor {
	p := e.p
	if len(b.Natives) > 0 {
		p.Natives = maps.Clone(p.Natives)
		if p.Natives == nil {
			p.Natives = map[string]Native{}
		}
		maps.Copy(p.Natives, b.Natives)
	}
	if b.Provide != nil {
		p.Provider = b.Provide
	}
	if b.Approve != nil {
		p.Approve = b.Approve
	}
	if b.Broker != nil {
		p.Broker = b.Broker
	}
	bound := New(p)
	bound.store = e.store
	bound.paths = e.paths
	return bound
}

// WithResolver returns an executor that finds its items by another resolver, such as one
// over items that are not written yet. It is the only difference.
func (e *Executor) WithResolver(r *resolve.Resolver) *Executor {
	p := e.p
	p.Resolver = r
	return New(p)
}
