package graph

import (
	"context"

	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// params renders the parameters. A value in a parameter that a shell reads is one word, or the
// call is refused.
func (w *walker) params(
	ctx context.Context,
	a *graphdef.Action,
	ref item.Ref,
	t Target,
	scope map[string]any,
) (map[string]any, error) {
	schema := policy.CallSchema(ref, t.Schema, a.Params, func(t *interpolate.Template) (string, bool) {
		v, err := t.Render(scope)
		s, ok := v.(string)
		return s, ok && err == nil
	}, func(called item.Ref) any {
		inner, err := w.p.Dispatcher.Target(ctx, called)
		if err != nil {
			return nil // the call fails, too
		}
		return inner.Schema
	})
	v, err := w.p.Risk.RenderShellParams(schema, a.Params, scope)
	if err != nil {
		return nil, err
	}
	params, _ := v.(map[string]any)
	if params == nil {
		return map[string]any{}, nil
	}
	return cloneMap(params), nil
}
