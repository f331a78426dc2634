package threadhost

import (
	"context"
	"slices"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/volatile"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
)

// tool runs one call of the model and identifies its result.
func (r *Run) toolWithin(within exec.Call) threads.Runner {
	return func(ctx context.Context, c *threads.ToolCall) (*threads.ToolResult, error) {
		defer r.starts.passed(c.ID)
		res, err := r.call(ctx, within, c)
		if err == nil && res != nil {
			res.Fingerprint = r.fingerprint(ctx, calledTool(c), res.Data)
		}
		return res, err
	}
}

// calledTool returns the tool that a call executes: of rye_execute, the one in its arguments.
// It is the zero Ref for calls of other verbs and kinds.
func calledTool(c *threads.ToolCall) item.Ref {
	id := c.Tool.Ref
	switch c.Tool.Verb {
	case "":
	case policy.Execute:
		id, _ = c.Input["item_id"].(string)
		kind, _ := c.Input["item_type"].(string)
		if kind != "" && kind != string(item.Tool) {
			return item.Ref{}
		}
	default:
		return item.Ref{}
	}
	ref, err := item.ParseRef(id, item.Tool)
	if err != nil || ref.Kind != item.Tool {
		return item.Ref{}
	}
	return ref
}

// declared returns the values that the items of the chain of a tool declare under a key of
// their metadata. An item that cannot be found declares nothing: its call has failed.
func (r *Run) declared(ctx context.Context, ref item.Ref, key string) []any {
	if ref.IsZero() {
		return nil
	}
	chain, err := r.chain(ctx, ref)
	if err != nil {
		return nil
	}
	var out []any
	for _, e := range chain.Elements {
		if v := e.Meta.Fields[key]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

// fingerprint identifies a result without the values that its tool declares as volatile. It
// is "" for a result that has none of them: its content identifies it.
func (r *Run) fingerprint(ctx context.Context, ref item.Ref, data any) string {
	var paths []string
	for _, v := range r.declared(ctx, ref, "volatile") {
		list, _ := v.([]any)
		for _, p := range list {
			s, ok := p.(string)
			if ok && !slices.Contains(paths, s) {
				paths = append(paths, s)
			}
		}
	}
	plain, err := jsonx.Plain(data)
	if err != nil || len(paths) == 0 {
		return ""
	}
	rest, changed := volatile.Result(plain, paths)
	if !changed {
		return ""
	}
	b, err := jsonx.Marshal(rest)
	if err != nil {
		return ""
	}
	return item.DigestOf(b).String()
}

// polls returns the ids of the calls of the newest answer whose tools are for waiting.
func (r *Run) polls(ctx context.Context, t *threads.Thread) []string {
	ids := []string{}
	for _, c := range t.LastCalls() {
		for _, v := range r.declared(ctx, calledTool(c), "polls") {
			if v == true {
				ids = append(ids, c.ID)
				break
			}
		}
	}
	return ids
}
