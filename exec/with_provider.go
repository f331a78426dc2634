package exec

import "context"

// WithProvider returns an executor that makes the calls of models by another function.
// It is the only difference.
func (e *Executor) WithProvider(call func(ctx context.Context, in ProviderCall) (map[string]any, error)) *Executor {
	p := e.p
	p.Provider = call
	return New(p)
}
