package threadhost

import (
	"context"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/steps"
)

// check runs a check of the outputs, with the permissions of the loop.
func (r *Run) check(ctx context.Context, c *threads.ToolCall, tool string) error {
	ref, err := item.ParseRef(tool, item.Tool)
	if err != nil {
		return diag.New(diag.ValidationFailed, "reading the check %q: %w", tool, err)
	}
	if err := r.Held.Allows(policy.Execute, ref); err != nil {
		return err
	}
	_, err = r.Project.Verbs.Tool(ctx, primary.Call{
		Ref:    ref,
		Held:   r.Held,
		Within: r.withinNode(c.Node),
		Params: map[string]any{"outputs": c.Input},
		Ask:    r.Options.Ask,
	})
	return err
}

// guard cuts a result to what the model reads, by the step result_guard.
func (r *Run) guard(
	ctx context.Context,
	c *threads.ToolCall,
	res *threads.ToolResult,
) (*threads.Guarded, error) {
	t := r.thread()
	if t == nil {
		return &threads.Guarded{Blocks: res.Blocks}, nil
	}
	out, err := r.Step(ctx, r.withinNode(c.Node), t, "result_guard", map[string]any{"results": []any{map[string]any{
		"call_id": c.ID, "ref": c.Tool.Ref, "is_error": res.IsError, "content": res.Blocks, "result_tokens": r.resultTokens(ctx, calledItem(c)), "page": res.Page,
	}}, "accepts": acceptedBy(t.Service())})
	if err != nil {
		return nil, err
	}
	var got struct {
		Results   []steps.Guarded        `json:"results"`
		Artifacts []steps.StoredArtifact `json:"artifacts"`
	}
	raw, err := jsonx.Marshal(out.Data)
	if err == nil {
		err = json.Unmarshal(raw, &got)
	}
	if err != nil || len(got.Results) != 1 {
		return nil, diag.New(diag.ExecutionFailed, "running the step result_guard: it must return one result")
	}
	g := &threads.Guarded{Blocks: got.Results[0].Content, Cut: got.Results[0].Cut}
	if len(got.Artifacts) > 0 {
		g.Artifact = []byte(got.Artifacts[0].Text)
	}
	return g, nil
}

// calledItem returns the ref of the tool that a call runs: rye_execute runs the one that its
// arguments name.
func calledItem(c *threads.ToolCall) string {
	ref := toolOfCall(string(c.Tool.Verb), c.Input)
	if ref.ID != "" {
		return ref.String()
	}
	return c.Tool.Ref
}

// resultTokens returns the bound that a tool states for its results, 0 for none.
func (r *Run) resultTokens(ctx context.Context, name string) int64 {
	ref, err := item.ParseRef(name, item.Tool)
	if err != nil {
		return 0
	}
	it, err := r.Project.Resolver.Find(ctx, ref)
	if err != nil {
		return 0
	}
	return WholeOf(it.Meta.Fields["result_tokens"])
}
