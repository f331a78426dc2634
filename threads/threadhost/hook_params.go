package threadhost

import (
	"context"
	"maps"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/itemcheck"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/steps"
)

// hookParams fills in the parameters of the action of a hook for the tool that it calls: a
// value in a text that a shell reads is one word, or the call is refused.
func (r *Run) hookParams(
	ctx context.Context,
	ref item.Ref,
	a steps.Action,
) (map[string]any, error) {
	t, problems := interpolate.Compile(a.Template)
	if len(problems) > 0 {
		return nil, diag.New(diag.ValidationFailed, "%s", problems[0].Text)
	}
	schema := func(ref item.Ref) any {
		it, err := r.Project.Resolver.Find(ctx, ref)
		if err != nil {
			return nil // the call fails, too
		}
		return it.Meta.Fields["config_schema"]
	}
	text := func(t *interpolate.Template) (string, bool) {
		v, err := t.Render(a.Scope)
		s, ok := v.(string)
		return s, ok && err == nil
	}
	v, err := itemcheck.Risk(ctx, r.Project.Resolver).RenderShellParams(
		policy.CallSchema(ref, schema(ref), t, text, schema),
		t,
		a.Scope,
	)
	params, _ := v.(map[string]any)
	return maps.Clone(params), err
}

// pauseOf returns the pause before a call of the model: delay in seconds, which a hook
// decided, or delay_ms.
func pauseOf(params map[string]any) time.Duration {
	if s := numberOf(params["delay"]); s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	return time.Duration(numberOf(params["delay_ms"]) * float64(time.Millisecond))
}
